"""Valid IR to put hostile parts into: the files of tests/programs/sample, or some of their functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from optctx.compiling import initialise_targets

_SAMPLE = Path(__file__).parents[2] / "programs" / "sample"
_LINKAGE = re.compile(r"\b(private|internal|linkonce_odr|linkonce|weak_odr|weak|available_externally)\b ?")
_UNNAMED = re.compile(r" *(local_)?unnamed_addr")


class _Function(NamedTuple):
    head: str  # up to the parameters' closing parenthesis
    rest: str


@dataclass(frozen=True)
class Part:
    """A file, in which no functions but those `kept` have a body, by their place in the file."""

    file: str
    kept: tuple[int, ...] = ()

    def text(self, attributes: Mapping[int, str]) -> str:
        """The IR; each of the `attributes` stands with its function."""
        pieces, functions = _split(self.file)
        lines = []
        for number, (piece, (head, rest)) in enumerate(zip(pieces, functions, strict=False)):
            text = f"{head} {attributes.get(number, '')}{rest}"
            if number not in self.kept:
                text = _LINKAGE.sub("", head.replace("define", "declare", 1))
            lines += [piece, text]
        return "\n".join((*lines, pieces[-1]))


@cache
def files() -> list[str]:
    """Names, in order."""
    return sorted(path.name for path in _SAMPLE.glob("*.ll"))


def prepare() -> None:
    """Do what opens files or is done once."""
    initialise_targets()
    for file in files():
        whole(file)


def whole(file: str) -> Part:
    return Part(file, tuple(range(len(_split(file)[1]))))


def draw_part(random: Random) -> Part:
    """A whole file, or a few functions of it."""
    part = whole(random.choice(files()))
    if random.random() < 0.3:
        return part
    return Part(part.file, tuple(random.sample(part.kept, min(len(part.kept), random.randint(1, 4)))))


def attributed(text: str, attribute: str) -> str:
    """IR, in which every function that has a body has the attribute."""
    first, *others = re.split(r"(?m)^(?=define )", text)
    return first + "".join(f"{head} {attribute}{rest}" for head, rest in map(_function, others))


@cache
def _split(file: str) -> tuple[list[str], list[_Function]]:
    """What is between the functions of a file that have a body, and these."""
    lines = (_SAMPLE / file).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith(";"))
    parts = re.split(r"(?ms)^(define .*?^\})$", text)
    return parts[::2], [_function(function) for function in parts[1::2]]


def _function(text: str) -> _Function:
    depth = 0
    for at in range(text.index("@"), len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if text[at] == ")" and depth == 0:
            break
    unnamed = _UNNAMED.match(text, at + 1)
    end = unnamed.end() if unnamed else at + 1
    return _Function(text[:end], text[end:])
