"""Print how optctx gives threads their own options in the LLVM that llvmlite loads, or in another one, which
options it refuses and why, and where it keeps files. Please add the JSON to a bug report. What a scope
reaches is found by an experiment: an option is set on one thread, and another thread compiles.
`python -m optctx` prints the same.

    optctx info
    optctx info --format json > info.json
    optctx info --llvm build/lib/libLLVM.so
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import optctx
from optctx.compiling import image_of
from optctx.compiling.reach import scope_reaches
from optctx.lab.command.console import printed, say
from optctx.lab.command.groups import Out, llvm
from optctx.lab.settings import group

_NAMED = 3  # refused options of a reason that are named


@dataclass(frozen=True)
class Arguments:
    """What `optctx info` takes."""

    llvm: str = llvm()
    out: Out = group(Out)


def run(given: Arguments) -> None:
    """Print `optctx.info()`, and what a scope reaches in this LLVM."""
    found = optctx.info(image_of(given.llvm))
    for image in found["images"]:
        image["scope_reaches"] = scope_reaches(image["path"])
    if not printed(given.out.format, lambda: found):
        say(*_page(found))


def _page(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines: one for each fact, refused options by their reasons."""
    for name, value in found.items():
        if name != "images":
            yield from _lines(name, value, "")
    for image in found["images"]:
        yield ""
        for name, value in image.items():
            by_reason = _by_reason(value) if name in ("refused_options", "sites_refused") else value
            yield from _lines(name, by_reason, "")


def _by_reason(refused: Mapping[str, str]) -> dict[str, str]:
    """Reason -> how many it holds for, and the first of them."""
    names: dict[str, list[str]] = {}
    for name, reason in refused.items():
        names.setdefault(reason, []).append(name)
    return {
        reason: f"{len(found):,}: {', '.join(found[:_NAMED])}{', ...' if len(found) > _NAMED else ''}"
        for reason, found in names.items()
    }


def _lines(name: str, value: object, indent: str) -> Iterator[str]:
    label = f"{indent}{name.replace('_', ' ')}"
    if not isinstance(value, Mapping):
        yield f"{label}: {'none' if value in (None, '', []) else value}"
        return
    yield label if value else f"{label}: none"
    for key, each in value.items():
        yield from _lines(str(key), each, f"{indent}  ")
