"""What the tests of drift begin with."""

from __future__ import annotations

import pytest

from optctx.drifting.watch import _AT_ONCE, _EACH_SECOND, _watchings


@pytest.fixture(autouse=True)
def looks_at_once() -> None:
    """Watchers may compare as often in a row as ever, though an earlier test has just done so."""
    for each in _watchings.values():
        each._allowance = type(each._allowance)(_EACH_SECOND, _AT_ONCE)
