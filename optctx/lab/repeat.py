"""The lines that compile a module once more as a trial did: for clang, for opt and llc, and for Numba."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optctx.compiling import CodeModel, Job, Reloc
from optctx.lab.llc import MODEL, tool_target
from optctx.lab.program import SOURCES
from optctx.lab.space import overrides_of
from optctx.lab.trial import Trial
from optctx.process import option_name

_LEVEL = re.compile(r"default<O([0123sz])>")

_CLANG_RELOC = {"static": "-fno-pic", "pic": "-fPIC"}
_UNKNOWN = re.compile(r"Unknown command line argument '-+([^'=]+)")
_PATIENCE = 20.0  # seconds for clang to read its arguments


@dataclass(frozen=True)
class Source:
    """What was compiled, as commands name it.

    `file`: as it was given: LLVM IR, bitcode, or C or C++ that `clang` compiles, a program with its options;
    "-" is standard input. The others are those of the job.
    """

    file: str
    triple: str = ""
    cpu: str = ""
    features: str = ""
    opt_level: int = 2
    reloc: Reloc = "pic"
    code_model: CodeModel = "default"
    clang: tuple[str, ...] = ("clang",)
    options: tuple[str, ...] = ()  # of every compilation, as opt takes them

    @classmethod
    def of(
        cls,
        file: str,
        job: Job,
        *,
        clang: Sequence[str] = ("clang",),
        options: Sequence[str] = (),
    ) -> Source:
        """Of the job that was read from a file."""
        given: dict[str, Any] = {"clang": tuple(clang), "options": tuple(options)}
        return cls(file, **job.target, **given)

    @property
    def compiled(self) -> bool:
        """Whether clang makes the module."""
        return os.path.splitext(self.file)[1] in SOURCES

    @property
    def module(self) -> str:
        """The file with the module."""
        return f"{self._stem}.bc" if self.compiled else self.file

    @property
    def optimised(self) -> str:
        return f"{self._stem}.opt.bc"

    @property
    def object(self) -> str:
        return f"{self._stem}.o"

    @property
    def _stem(self) -> str:
        if self.file == "-":
            return "stdin"
        stem = os.path.splitext(os.path.basename(self.file))[0]
        return f"./{stem}" if stem.startswith("-") else stem  # no option of a command


@dataclass(frozen=True)
class Reproduction:
    """Lines for a POSIX shell, one command each, and a decorator of Numba's.

    `front`: compiles C or C++ to a module; "" for a module. `opt` and `llc` go by it. `clang`: compiles with
    clang's own pipeline, which is about the trial's; "" if clang has none like it. `numba`: a decorator of a
    function.
    """

    front: str
    opt: str
    llc: str
    clang: str
    numba: str


def reproduction(trial: Trial, source: Source) -> Reproduction:
    """How to compile as a trial did. Options with the value "default" are left alone.

    Every text is quoted: no name of an option or a file, and no value, can be more than itself.
    """
    given = arguments_of(trial, source)
    texts: dict[str, list[str]] = {}
    for argument in given:
        name, equals, text = argument.lstrip("-").partition("=")
        texts.setdefault(name, []).append(text if equals else "true")
    options = {name: each if len(each) > 1 else each[0] for name, each in texts.items()}
    return Reproduction(
        *shell_lines(given, trial.passes, source), numba=f"@optctx.numba.njit(options={options!r})"
    )


def arguments_of(trial: Trial, source: Source) -> list[str]:
    """What a trial was compiled under, as opt takes it: its options, on top of those of every compilation."""
    own = overrides_of(trial.options)
    base = (each for each in source.options if option_name(each) not in own)
    return [*base, *(f"-{name}={text}" for name, text in own.items())]


def shell_lines(given: Sequence[str], passes: str, source: Source) -> tuple[str, str, str, str]:
    """The lines `front`, `opt`, `llc` and `clang` of a Reproduction, for options as opt takes them."""
    target = tool_target(source)
    level, module = f"-O{source.opt_level}", _file(source.module)
    return (
        _line(front_words(source, source.module)) if source.compiled else "",
        _line(["opt", f"-passes={passes}", *target, *given, "-o", source.optimised, module]),
        _line(["llc", level, "-filetype=obj", *target, *given, "-o", source.object, source.optimised]),
        _clang(passes, source, given),
    )


def shown_lines(front: str, opt: str, llc: str, clang: str) -> list[str]:
    """The same for a terminal. Nothing for clang if it has no pipeline like it."""
    tools = " && ".join(line for line in (front, opt, llc) if line)
    return [*([f"clang: {clang}"] if clang else []), f"opt and llc: {tools}"]


def front_words(source: Source, module: str) -> list[str]:
    """The command that makes a module of C or C++.

    Nothing is optimised, though at a level: without one, functions would be marked as not to be optimised.
    """
    fixed = ["-c", "-emit-llvm", "-O2", "-Xclang", "-disable-llvm-passes"]
    clang, *own = source.clang
    return [clang, *fixed, *_target(source), *own, "-o", module, "--", source.file]


def _clang(passes: str, source: Source, given: Sequence[str]) -> str:
    level = _LEVEL.fullmatch(passes)
    if level is None or source.file == "-" or source.reloc not in _CLANG_RELOC:
        return ""
    clang, *given_to_clang = source.clang
    own = given_to_clang if source.compiled else []
    options = [word for option in given for word in ("-mllvm", option)]
    words = [clang, f"-O{level[1]}", *_target(source), *own, *options, "-c", "-o", source.object]
    return _line([*words, "--", source.file])


def _target(source: Source) -> list[str]:
    """The target for clang, which writes much of it into the module."""
    words = [f"--target={source.triple}"] if source.triple else []
    words += [_CLANG_RELOC[source.reloc]] if source.reloc in _CLANG_RELOC else []
    words += [f"-mcmodel={model}"] if (model := MODEL[source.code_model]) else []
    if source.cpu == "native":
        words.append("-march=native")
    own = ["-target-cpu", source.cpu] if source.cpu not in ("", "native") else []
    for feature in filter(None, source.features.split(",")):
        own += ["-target-feature", feature]
    return [*words, *(word for each in own for word in ("-Xclang", each))]


def _file(name: str) -> str:
    """A name that opt takes for no option; "-" is standard input."""
    return f"./{name}" if name.startswith("-") and name != "-" else name


def _line(words: list[str]) -> str:
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """A word for a shell. What cannot be seen has escapes, as bash, zsh and POSIX 2024 read them."""
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escape, word))}'"


def _escape(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    # Octal digits: those of \x would take the letters behind them in
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in character.encode(errors=errors))


def unknown_options(clang: str, given: Sequence[str]) -> list[str]:
    """The names that this clang does not have, of options as opt takes them. Runs it on an empty file; [] if
    it fails.
    """
    if not given or shutil.which(clang) is None:
        return []
    words = [word for each in given for word in ("-mllvm", each)]
    command = [clang, *words, "-x", "c", "-c", "-o", "/dev/null", "/dev/null"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return []
    said = set(_UNKNOWN.findall(run.stderr))
    return [name for each in given if (name := option_name(each)) in said]
