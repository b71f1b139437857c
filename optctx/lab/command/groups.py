"""The groups of flags that commands share, each flag written once, and what a command makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from optctx import OptionContext
from optctx.compiling import Image, Job, image_of
from optctx.lab.command.inputs import read_input
from optctx.lab.repeat import target_of
from optctx.lab.settings import argument, setting
from optctx.toml import read_toml

PASSES = "default<O3>"
FILE = "LLVM IR (.ll), bitcode (.bc), or C or C++ (.c, .cpp) for clang; '-' for standard input"
_MOST_BYTES = 1 << 20  # of a file of options, as OptionContext.load has it


def llvm() -> Any:
    """A field for the LLVM that a command is about."""
    return setting(
        "",
        "another LLVM than llvmlite's: its file, or a version that is installed",
        metavar="LLVM",
    )


@dataclass(frozen=True)
class File:
    """What a command compiles."""

    file: str = argument(FILE, metavar="FILE")


@dataclass(frozen=True)
class Input:
    """How a file is read and compiled."""

    title: ClassVar[str] = "input"
    passes: str = setting("", f"pipeline as for `opt -passes` ({PASSES})", metavar="PASSES")
    llc: str = setting(
        "",
        "the target, as llc takes it: '-mtriple=aarch64-linux-gnu -mcpu=native -mattr=+avx2 -O3 "
        "-relocation-model=static -code-model=large' (this machine's, a generic processor, -O2, pic)",
        metavar="'ARGS'",
    )
    clang: str = setting("clang", "what compiles C and C++, with its options", metavar="'PROGRAM ARGS'")
    llvm: str = llvm()

    @property
    def image(self) -> Image | None:
        """The LLVM. Raises OptctxError for one that cannot be used."""
        return image_of(self.llvm)

    def under(self, base: Base) -> Input:
        """The same with the pipeline of the file of `--load`, if it has one and `--passes` names none."""
        if self.passes or base.load is None:
            return self
        found = read_toml(base.load, _MOST_BYTES).get("passes")
        return replace(self, passes=found) if isinstance(found, str) else self

    def job(self, path: str) -> Job:
        """The job for a file. Raises OptctxError for one that cannot be read or compiled."""
        target = Job("", self.passes or PASSES, **target_of(self.llc), llvm=self.llvm)
        return replace(target, ir=read_input(path, target, self.clang))


@dataclass(frozen=True)
class Base:
    """The options that every compilation of a command has."""

    title: ClassVar[str] = "options of every compilation"
    settings: tuple[str, ...] = setting(
        (),
        "an LLVM option of every compilation; NAME alone for a flag; repeat for more",
        flags="--set",
        metavar="NAME=VALUE",
    )
    load: str | None = setting(
        None,
        "take options from a file that `optctx tune --best` wrote; --set comes on top",
        metavar="FILE",
    )

    def context(self, image: Image | None = None) -> OptionContext:
        """The context. `image`: of which LLVM.

        Raises OptctxError for an option or a value that this LLVM does not have, and for a file that cannot
        be used.
        """
        loaded = [] if self.load is None else OptionContext.load(self.load, image=image).args()
        words = [f"-{each.strip().lstrip('-')}" for each in self.settings]
        return OptionContext.from_args([*loaded, *words], image=image)  # the last one counts


@dataclass(frozen=True)
class Try:
    """What an experiment varies."""

    title: ClassVar[str] = "what to try"
    tries: tuple[str, ...] = setting(
        (),
        "values to try: a,b,c | 1..16 | 1..1024:log | 0..64:step=8; 'default' leaves the option alone, NAME "
        "alone tries a flag; repeat for more options",
        flags="--try",
        metavar="NAME=VALUES",
    )


@dataclass(frozen=True)
class Out:
    """How a result is printed."""

    title: ClassVar[str] = "output"
    format: str = setting("table", "how to print (%(default)s)", choices=("table", "json", "csv"))
