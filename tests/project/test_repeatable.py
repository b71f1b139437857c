"""A test draws the same examples whatever was imported before it, and in whatever order."""

from __future__ import annotations

import pathlib

from tests.support.processes import run_python

_DRAWING = """
import sys
from hypothesis import given, settings, strategies as st
from tests.support.examples import REPEATABLE
sys.path.append(sys.argv[1])
settings.load_profile(REPEATABLE)

@given(st.tuples(st.integers(), st.text(), st.floats(), st.sampled_from(range(1000))))
def draws(drawn):
    print(ascii(drawn))

draws()
print("imported")
import constants
draws()
"""


def test_examples_do_not_depend_on_what_is_imported(tmp_path: pathlib.Path) -> None:
    """Hypothesis draws some of the constants of the modules that it takes for the program under test."""
    (tmp_path / "constants.py").write_text(f"NUMBERS = {list(range(100, 900))}, 0.12345, 'a word'\n")
    before, after = run_python(_DRAWING, str(tmp_path)).split("imported\n")
    assert before == after != ""
