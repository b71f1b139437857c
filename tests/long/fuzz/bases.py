"""Valid IR to put hostile parts into: the files of tests/programs/sample, or some of their functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

__all__ = ["Part", "attributed", "draw_part", "files"]

_SAMPLE = Path(__file__).parents[2] / "programs" / "sample"
_LINKAGE = re.compile(r"\b(private|internal|linkonce_odr|linkonce|weak_odr|weak|available_externally)\b ?")
_UNNAMED = re.compile(r" *(local_)?unnamed_addr")


@dataclass(frozen=True)
class _Function:
    head: str  # up to the parameters' closing parenthesis
    rest: str


@dataclass(frozen=True)
class Part:
    """A file, without the functions `removed`, and with no more of those `declared` than that."""

    file: str
    declared: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()

    @property
    def defined(self) -> list[int]:
        """Functions that have a body, by their place in the file."""
        gone = self.declared | self.removed
        return [number for number in range(len(_functions(self.file))) if number not in gone]

    def text(self, attributes: Mapping[int, str]) -> str:
        """The IR; each of the `attributes` stands with its function."""
        lines = []
        for number, piece in enumerate(_pieces(self.file)):
            lines.append(piece)
            functions = _functions(self.file)
            if number == len(functions) or number in self.removed:
                continue
            function = functions[number]
            if number in self.declared:
                lines.append(_LINKAGE.sub("", function.head.replace("define", "declare", 1)))
            else:
                lines.append(f"{function.head} {attributes.get(number, '')}{function.rest}")
        return "\n".join(lines)

    def without(self, number: int) -> tuple[Part, Part]:
        """Without one function, and with no more than its declaration."""
        return (
            replace(self, removed=self.removed | {number}),
            replace(self, declared=self.declared | {number}),
        )


@cache
def files() -> list[str]:
    """Names, in order."""
    return sorted(path.name for path in _SAMPLE.glob("*.ll"))


def draw_part(random: Random) -> Part:
    """A whole file, or a few functions of it."""
    part = Part(random.choice(files()))
    if random.random() < 0.3:
        return part
    numbers = part.defined
    kept = random.sample(numbers, min(len(numbers), random.randint(1, 4)))
    return replace(part, declared=frozenset(numbers) - frozenset(kept))


def attributed(text: str, attribute: str) -> str:
    """IR, in which every function that has a body has the attribute."""
    first, *others = re.split(r"(?m)^(?=define )", text)
    functions = map(_function, others)
    return first + "".join(f"{function.head} {attribute}{function.rest}" for function in functions)


@cache
def _split(file: str) -> tuple[list[str], list[_Function]]:
    text = (_SAMPLE / file).read_text()
    lines = [line for line in text.splitlines() if not line.startswith(";")]
    pieces, functions = [], []
    between: list[str] = []
    body: list[str] | None = None
    for line in lines:
        if body is not None:
            body.append(line)
            if line == "}":
                functions.append(_function("\n".join(body)))
                body = None
        elif line.startswith("define "):
            pieces.append("\n".join(between))
            between, body = [], [line]
        else:
            between.append(line)
    return [*pieces, "\n".join(between)], functions


def _pieces(file: str) -> list[str]:
    return _split(file)[0]


def _functions(file: str) -> list[_Function]:
    return _split(file)[1]


def _function(text: str) -> _Function:
    depth = 0
    for at in range(text.index("@"), len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if text[at] == ")" and depth == 0:
            break
    unnamed = _UNNAMED.match(text, at + 1)
    end = unnamed.end() if unnamed else at + 1
    return _Function(text[:end], text[end:])
