"""No loop inside a try or with statement of the package jumps back where CPython forgets the statement."""

from __future__ import annotations

import pathlib
import sys

import pytest

from tests.native.python.back_edges import unguarded

ROOT = pathlib.Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="needs the exception tables of Python 3.11"
)

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


def test_it_is_found_and_no_other_loop(tmp_path: pathlib.Path) -> None:
    found = {name for name, text in {**FORGOTTEN, **KEPT}.items() if unguarded(written(text, tmp_path))}
    if sys.version_info >= (3, 15):  # candidates of 3.15.0 compiled as 3.14 does
        assert found <= {"an if at the end"}
    else:  # 3.14 compiles conditions in another way
        assert found == ({"an if at the end"} if sys.version_info >= (3, 14) else set(FORGOTTEN))


def written(text: str, folder: pathlib.Path) -> pathlib.Path:
    file = folder / "loop.py"
    file.write_text("def f():\n" + "".join(f"  {line}\n" for line in text.splitlines()))
    return file
