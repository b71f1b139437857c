"""optctx where Python delays every import (Python 3.15), and where it begins to once optctx is imported."""

from __future__ import annotations

import sys

import pytest

from tests.support.processes import python_process

pytestmark = [
    pytest.mark.skipif(sys.version_info < (3, 15), reason="needs Python 3.15: `make test-long`"),
]

SCRIPT = """
import sys

asked = []
sys.set_lazy_imports_filter(lambda importing, imported, names: not asked.append(importing))

import optctx
from functools import partial
from tests.support.scopes import in_threads, unrolled


def agrees(count):
    with optctx.OptionContext(unroll_count=count):
        assert unrolled() == count


in_threads([partial(agrees, count) for count in (2, 4, 8)])
assert sys.get_lazy_imports() == "all" and "__main__" in asked
BEFORE = ("optctx.importing",)  # which has this done
for name in optctx.__all__:
    assert type(getattr(optctx, name)).__name__ not in ("module", "lazy_import"), name
for name, module in list(sys.modules.items()):
    if name.startswith("optctx.") and name not in BEFORE:
        assert not [each for each in vars(module).values() if type(each).__name__ == "lazy_import"], name
"""


LATER = "import sys, optctx; sys.set_lazy_imports('all')"


@pytest.mark.parametrize("flags", [("-X", "lazy_imports=all", "-c", SCRIPT), ("-c", f"{LATER}\n{SCRIPT}")])
def test_its_own_imports_run_where_they_stand_and_scopes_are_right(flags: tuple[str, ...]) -> None:
    done = python_process(*flags)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
