"""A scope around Numba's own `vectorize` and `guvectorize`, for each of their targets on processors."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

from optctx import OptionContext
from tests.optctx.numba.numba_functions import Options
from tests.optctx.numba.numba_processes import at_once, run
from tests.optctx.numba.numba_universal import decorated

OPTIONS: Options = {"force-vector-width": 1, "vectorize-slp": False}


@pytest.mark.parametrize("target", ["cpu", pytest.param("parallel", marks=pytest.mark.long)])
def test_code_that_is_decorated_in_a_scope_is_that_of_a_fresh_process(target: str) -> None:
    wanted = run(decorated, {}, target, process_wide=OptionContext(OPTIONS, base="defaults").args())
    plain, inside = at_once(*(partial(decorated, options, target) for options in ({}, OPTIONS)))
    assert inside == wanted != plain
