"""Counts the places in LLVM's sources that such a change breaks, by kind, as the compiler reports them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from .setup import Setup
from .shell import UpstreamError, run
from .stamps import digest, step

_ERROR = re.compile(r"^([^\s:]+):(\d+):\d+: (?:fatal )?error: ", re.MULTILINE)
_SHOWN = 10
_HELPERS = re.compile(
    r"\n  // What is used of std::string's interface, .*?\n  // The end of that interface\.\n", re.DOTALL
)


@dataclass(frozen=True)
class Kind:
    """One kind of option, compiled with one form of the header."""

    name: str
    files: int
    """Source files that declare such options."""
    broken_files: int
    broken: list[str]
    """Their names, from the folder of sources; the first of them where they are many."""
    places: int
    """Lines that the compiler refuses."""


@dataclass(frozen=True)
class Breaks:
    kinds: list[Kind]
    locations: int
    """Options with cl::location in the sources that are configured."""
    locations_in_contexts: int
    """Those whose variable is a cl::ContextVar."""


def count_breaks(setup: Setup) -> Breaks:
    """Compiles, without making objects, the files that declare options of a kind. Raises UpstreamError."""
    support = setup.source / "llvm" / "include" / "llvm" / "Support"
    state = digest(support / "CommandLine.h", support / "OptionContext.h", Path(__file__))
    kept = setup.results / "breaks.json"

    def work() -> None:
        kept.write_text(json.dumps(asdict(_counted(setup, support / "CommandLine.h")), indent=1))

    step(setup.stamps, "breaks", state, kept, work)
    said = json.loads(kept.read_text())
    return Breaks([Kind(**kind) for kind in said.pop("kinds")], **said)


def _counted(setup: Setup, header: Path) -> Breaks:
    commands = _commands(setup)
    texts = {path: path.read_text(errors="replace") for path in commands}
    strings = [path for path, text in texts.items() if re.search(r"cl::opt<std::string\b", text)]
    lists = [path for path, text in texts.items() if re.search(r"cl::(list|bits)<", text)]
    overlay = setup.build / "bare-strings"
    (overlay / "llvm" / "Support").mkdir(parents=True, exist_ok=True)
    (overlay / "llvm" / "Support" / "CommandLine.h").write_text(without_helpers(header.read_text()))
    kinds = [
        _kind(setup, "strings, if only a conversion to std::string is there", strings, commands, overlay),
        _kind(setup, "strings, with the members and operators that the header adds", strings, commands, None),
        _kind(setup, "lists and bits, elements read-only", lists, commands, None),
    ]
    return Breaks(kinds, *_locations(texts.values()))


def without_helpers(header: str) -> str:
    """The header whose strings only convert to std::string. Raises UpstreamError if it has no such part."""
    bare, replaced = _HELPERS.subn("\n", header)
    if replaced != 1:
        raise UpstreamError(
            "CommandLine.h does not have one part that begins with what strings add; see patches"
        )
    return bare


def _commands(setup: Setup) -> dict[Path, list[str]]:
    """How the configured build compiles each file of LLVM's libraries, opt and llc."""
    said = json.loads((setup.objects / "compile_commands.json").read_text())
    found = {}
    for entry in said:
        path = Path(entry["file"])
        inside = path.relative_to(setup.source).parts if path.is_relative_to(setup.source) else ()
        if inside[:2] == ("llvm", "lib") or inside[:3] in (
            ("llvm", "tools", "opt"),
            ("llvm", "tools", "llc"),
        ):
            words = shlex.split(entry["command"])
            end = words.index("-o")
            start = 1 if words[0].endswith("ccache") else 0
            found[path] = words[start:end]
    return found


def _kind(
    setup: Setup, name: str, files: Iterable[Path], commands: dict[Path, list[str]], overlay: Path | None
) -> Kind:
    def broken_places(path: Path) -> set[tuple[str, str]]:
        first = [f"-I{overlay}"] if overlay else []
        program, *words = commands[path]
        checks: list[str | Path] = ["-fsyntax-only", "-ferror-limit=0", "-fno-color-diagnostics", "-w", path]
        # Generated headers may be missing where nothing was built yet: made, then tried.
        done = subprocess.run(
            [program, *first, *words, *checks],
            cwd=setup.objects,
            capture_output=True,
            text=True,
            errors="replace",
        )
        places = {(file, line) for file, line in _ERROR.findall(done.stderr)}
        if done.returncode and not places:
            raise UpstreamError(f"cannot compile {path}: {done.stderr[-300:]}")
        return places

    files = sorted(files)
    run(["ninja", "-C", setup.objects, *(_GENERATED)])
    with ThreadPoolExecutor(setup.jobs) as pool:
        found = list(pool.map(broken_places, files))
    every: set[tuple[str, str]] = set().union(*found)
    broken = [
        path.relative_to(setup.source).as_posix() for path, places in zip(files, found, strict=True) if places
    ]
    return Kind(name, len(files), len(broken), broken[:_SHOWN], len(every))


_GENERATED = (
    *("intrinsics_gen", "omp_gen", "acc_gen", "vt_gen", "X86CommonTableGen"),
    *(f"{target}TargetParserTableGen" for target in ("ARM", "AArch64", "RISCV")),
)


def _locations(texts: Iterable[str]) -> tuple[int, int]:
    """Options with cl::location, and those whose variable's definition in the same file is a ContextVar."""
    located = held = 0
    for text in texts:
        contextual = set(re.findall(r"cl::ContextVar<[^;]*?>\s+([\w:]+)\b", text))
        names = {name.split("::")[-1] for name in contextual}
        for found in re.findall(r"cl::location\(\s*([\w:*]+)", text):
            located += 1
            held += found.split("::")[-1] in names
    return located, held
