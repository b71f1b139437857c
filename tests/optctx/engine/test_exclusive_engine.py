"""The way of running without a changed instruction: threads with different values take turns.

Everything runs in processes of its own, because a process keeps the way that it began with.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib

import pytest

import optctx
from optctx import OptctxError, registry
from optctx.engine.attach import attached
from optctx.lab.command.main import main
from optctx.lab.tuning.marking import marked_and_tried
from tests.support.alone import alone
from tests.support.ir_texts import SCALE
from tests.support.library_code import changed_code
from tests.support.scopes import unrolled
from tests.support.tuning_cases import JOB


@alone(OPTCTX_ENGINE="exclusive")
def test_it_says_so_and_changes_no_code_and_can_be_detached() -> None:
    info = optctx.info()
    assert (info["engine"], info["engine_reason"]) == ("exclusive", "OPTCTX_ENGINE=exclusive")
    assert info["images"][0]["sites"]["redirected"] == 0
    for _ in range(2):
        with optctx.OptionContext(unroll_count=4):
            assert unrolled() == 4
            assert changed_code() == []
            with pytest.raises(optctx.ScopeError) as caught:
                optctx.detach()
            assert "1 scope is still entered" in str(caught.value)
        optctx.detach()
        assert attached() is None
        assert unrolled() == 1


def settable() -> set[str]:
    return {name for name, option in registry().items() if option.scope != "process"}


@alone(OPTCTX_ENGINE="exclusive")
def nearly_all_can_be_set(names: set[str]) -> None:
    assert names - settable() == {"debug"}  # a thread cannot be told apart where nothing is redirected


@pytest.mark.redirected
def test_the_same_options_can_be_set() -> None:
    nearly_all_can_be_set(names=settable())


@alone(OPTCTX_ENGINE="exclusive")
def test_a_best_set_cannot_become_attributes_and_no_search_begins(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kernel.ll").write_text(SCALE)
    words = ["tune", "kernel.ll", "--try", "unroll-count=1,2", "--emit-ir", "best.ll", "--keep", "x.journal"]
    os.chdir(tmp_path)
    with contextlib.redirect_stderr(io.StringIO()) as err:
        assert main(words) == 2
    told = err.getvalue()
    assert told.startswith("optctx: cannot write the best set as attributes of functions: threads take")
    assert told.endswith("; keep the set with --best\n"), told
    with pytest.raises(OptctxError) as caught:
        marked_and_tried(JOB, optctx.OptionContext(unroll_count=2))
    assert str(caught.value) in told
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.ll"]
