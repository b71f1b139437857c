"""Attributes of functions against stock LLVM: a sample here, all of it in `make test-long`."""

from __future__ import annotations

import pytest

from optctx.compiling import FreshProcess, Job
from optctx.values import Judgement
from tests.long.effects import case_of, doubled, of_attributes
from tests.support.ir_texts import CALLS, COUNTED, LOWERED, SCALE, X86
from tests.support.processes import python_process

pytestmark = [pytest.mark.llvm22]

# Read by a pass, by one of machine functions, for a subtarget; and two that no function can have for itself.
SAMPLE = ("unroll-count", "disable-peephole", "min-bit-test-cmps", "disable-lsr", "inline-threshold")


@pytest.mark.usefixtures("attached", "attributes")
def test_an_attribute_acts_on_its_function_alone_or_is_refused(
    fresh: FreshProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(doubled(CALLS + COUNTED + LOWERED + SCALE), "default<O2>", triple=X86, emit="assembly")
    case = case_of(job, fresh)
    assert case is not None
    assert of_attributes([case], SAMPLE, fresh) == 0
    assert "5 options, 5 read: 3 acts, 2 refused" in capsys.readouterr().out
    # The experiment finds an option that nobody has judged so.
    monkeypatch.setattr("optctx.values.trust.judgement_of", lambda _: Judgement("tuning", ""))
    assert of_attributes([case], ["disable-lsr"], fresh) == 1
    assert f"silent: -disable-lsr=true in {X86} default<O2> 2" in capsys.readouterr().out


@pytest.mark.long
def test_all_of_it() -> None:
    done = python_process("-m", "tests.long.effects", seconds=36_000)
    assert done.returncode == 0, done.stdout + done.stderr
