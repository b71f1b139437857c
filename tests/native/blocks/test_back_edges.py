"""No loop inside a try or with statement of the package jumps back where CPython forgets the statement."""

from __future__ import annotations

import pathlib
import sys

import pytest
from back_edges import unguarded

ROOT = pathlib.Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="no exception tables before Python 3.11")

FORGOTTEN = {
    "a condition": "with lock:\n  while busy(): wait()\n",
    "two conditions": "try:\n  while busy() and late(): wait()\nfinally:\n  end()\n",
    "an if at the end": "with lock:\n  for each in all():\n    if each: wait()\n",
}
KEPT = {
    "a function of its own": "with lock:\n  wait()\n",
    "for": "with lock:\n  for each in all(): wait()\n",
    "for ever": "with lock:\n  while True: wait()\n",
    "no statement around it": "while busy(): wait()\n",
    "a generator": "any(each for each in all() if each)\n",
    "a statement inside": "while busy():\n  with lock: wait()\n",
}


def test_the_package_has_none() -> None:
    found = {
        str(file.relative_to(ROOT)): jumps
        for file in sorted((ROOT / "optctx").rglob("*.py"))
        if (jumps := unguarded(file))
    }
    assert not found, "put the loop into a function of its own"


@pytest.mark.parametrize("text", FORGOTTEN.values(), ids=FORGOTTEN)
def test_it_is_found(text: str, tmp_path: pathlib.Path) -> None:
    assert unguarded(written(text, tmp_path))


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_other_loops_are_not(text: str, tmp_path: pathlib.Path) -> None:
    assert not unguarded(written(text, tmp_path))


def written(text: str, folder: pathlib.Path) -> pathlib.Path:
    file = folder / "loop.py"
    file.write_text("def f():\n" + "".join(f"  {line}\n" for line in text.splitlines()))
    return file
