"""Valid IR to put hostile parts into: the files of tests/programs/sample."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from optctx.compiling import initialise_targets

_SAMPLE = Path(__file__).parents[2] / "programs" / "sample"
_UNNAMED = re.compile(r" *(local_)?unnamed_addr")


def prepare() -> None:
    """Do what opens files or is done once."""
    initialise_targets()
    for part in files():
        _split(part.file)


@cache
def files() -> list[Part]:
    """All, in order of their names."""
    return [Part(name) for name in sorted(path.name for path in _SAMPLE.glob("*.ll"))]


@dataclass(frozen=True)
class Part:
    """A file, of which no part is left out when a finding is made small."""

    file: str

    @property
    def functions(self) -> int:
        """How many have a body."""
        return len(_split(self.file)) - 1

    def text(self, attributes: Mapping[int, str]) -> str:
        """The IR; each of the `attributes` stands with its function, by the place of that in the file."""
        first, *functions = _split(self.file)
        return first + "".join(_with(text, attributes.get(at, "")) for at, text in enumerate(functions))


def attributed(text: str, attribute: str) -> str:
    """IR, in which every function that has a body has the attribute."""
    first, *functions = _parts(text)
    return first + "".join(_with(function, attribute) for function in functions)


def _parts(text: str) -> list[str]:
    """What is before the first function that has a body, and what begins with each."""
    return re.split(r"(?m)^(?=define )", text)


@cache
def _split(file: str) -> list[str]:
    lines = (_SAMPLE / file).read_text().splitlines()
    return _parts("\n".join(line for line in lines if not line.startswith(";")))


def _with(text: str, attribute: str) -> str:
    """A function with an attribute behind its parameters."""
    depth = 0
    for at in range(text.index("@"), len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if text[at] == ")" and depth == 0:
            break
    unnamed = _UNNAMED.match(text, at + 1)
    end = unnamed.end() if unnamed else at + 1
    return f"{text[:end]} {attribute}{text[end:]}"
