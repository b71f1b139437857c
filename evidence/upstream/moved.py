"""How far a checkout of LLVM has moved its options from `cl::` to structs of libraries.

    python -m evidence.upstream.moved CHECKOUT [--census FILE]

Counts, for each library, the options that C++ code declares (`cl::opt`, `cl::list`, `cl::bits`) and the
fields of TableGen files that include `llvm/Option/LibraryOptions.td`, and says which files mention
`perContext`. With a census (--census), matches the names: which of its options are
fields now, which are declared in C++ still, and which are in neither.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_DECLARED = re.compile(r"\bcl::(?:opt|list|bits|opt_ctx)<")
_STRING = re.compile(r'"([^"\\\n]*)"')
_FIELD = re.compile(
    r'^\s*defm\s+\w*\s*:\s*(?:OptionalBool|Bool|Enum|DefaultOnOff|Value)Field<\s*"([^"]+)"', re.M
)
_COMMENT = re.compile(r"//[^\n]*")
_INCLUDES = '"llvm/Option/LibraryOptions.td"'
_NEAR = 300  # characters between a declaration and the option's name


@dataclass
class Moved:
    """Of one checkout. `declared` and `fields`: names by library; `per_context`: files that mention it."""

    declared: dict[str, list[str]] = field(default_factory=dict)
    fields: dict[str, list[str]] = field(default_factory=dict)
    per_context: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 2 for a folder that is no checkout of LLVM."""
    asked = make_parser().parse_args(arguments)
    llvm = next((path for path in (asked.checkout / "llvm", asked.checkout) if (path / "lib").is_dir()), None)
    if llvm is None or not (llvm / "lib/IR").is_dir():
        print(f"moved: {asked.checkout} has no llvm/lib/IR; name a checkout of LLVM", file=sys.stderr)
        return 2
    moved = count_moved(llvm)
    print(_table(moved))
    if asked.census:
        names = [each["name"] for each in json.loads(asked.census.read_text())["options"]]
        print(_matched(moved, names))
    return 0


def count_moved(llvm: Path) -> Moved:
    """What the folder `llvm` of a checkout declares."""
    found = Moved()
    for path in _files(llvm, (".td",)):
        text = path.read_text(errors="replace")
        if _INCLUDES in text:
            found.fields.setdefault(_library(path, llvm), []).extend(_FIELD.findall(text))
            _note(found, text, path, llvm)
    for path in _files(llvm, (".cpp", ".h")):
        text = path.read_text(errors="replace")
        names = list(_declared(_COMMENT.sub("", text)))
        if names:
            found.declared.setdefault(_library(path, llvm), []).extend(names)
        _note(found, text, path, llvm)
    return found


def _note(found: Moved, text: str, path: Path, llvm: Path) -> None:
    if "perContext" in text:
        found.per_context.append(str(path.relative_to(llvm)))


def _files(llvm: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for folder in ("lib", "include"):
        yield from (path for path in sorted((llvm / folder).rglob("*")) if path.suffix in suffixes)


def _declared(text: str) -> Iterator[str]:
    """The names of the options that C++ code constructs. References, parameters and `extern` have none."""
    for found in _DECLARED.finditer(text):
        begin = text.rfind("\n", 0, found.start()) + 1
        if "extern" in text[begin : found.start()]:
            continue
        end = _past_arguments(text, found.end())
        constructed = re.match(r"\s*(?:\w+::)*\w+\s*[({]", text[end : end + _NEAR])
        if constructed is None:
            continue
        after = text[end + constructed.end() : end + constructed.end() + _NEAR]
        name = _STRING.match(after.lstrip())
        if name is not None:
            yield name[1]


def _past_arguments(text: str, at: int) -> int:
    """After the `>` that ends template arguments that begin at `at`."""
    depth = 1
    while depth and at < len(text):
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
    return at


def _library(path: Path, llvm: Path) -> str:
    parts = path.relative_to(llvm).parts
    if parts[0] == "include":
        return "/".join(parts[2:3]) or "include"
    return "/".join(parts[1:3]) if parts[1] in ("Target", "Transforms") else parts[1]


def _table(moved: Moved) -> str:
    libraries = sorted(moved.declared.keys() | moved.fields.keys())
    width = max(map(len, libraries), default=7)
    rows = [f"{'library':{width}} {'declared in C++':>16} {'fields':>8}"]
    for name in libraries:
        rows.append(
            f"{name:{width}} {len(moved.declared.get(name, ())):>16} {len(moved.fields.get(name, ())):>8}"
        )
    rows.append(f"{'all':{width}} {_count(moved.declared.values()):>16} {_count(moved.fields.values()):>8}")
    mentioned = ", ".join(moved.per_context) or "no file"
    return "\n".join([*rows, "", f"perContext: {mentioned}"])


def _matched(moved: Moved, names: Sequence[str]) -> str:
    fields = {name for each in moved.fields.values() for name in each}
    declared = {name for each in moved.declared.values() for name in each}
    count = Counter(
        "a field" if name in fields else "declared in C++" if name in declared else "in neither"
        for name in names
    )
    rows = (f"{count[what]:8,}  {what}" for what in ("a field", "declared in C++", "in neither"))
    return "\n".join([f"\nOf {len(names):,} names in the census:", *rows])


def _count(lists: Iterable[Sequence[str]]) -> int:
    return sum(map(len, lists))


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.upstream.moved",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkout", type=Path, help="a folder with llvm/lib in it")
    parser.add_argument("--census", type=Path, help="from `optctx options --format json`")
    return parser


if __name__ == "__main__":
    sys.exit(main())
