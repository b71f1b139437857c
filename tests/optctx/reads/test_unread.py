"""Overrides that LLVM did not read: `log.unread`, and contexts with `unread`; what is known of it."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, UnreadOptionError, UnreadOptionWarning, propagating, record, registry
from optctx.compiling import Job, compile_job
from tests.support.ir_texts import CALLS, COUNTED, SCALE, UNROLL, X86
from tests.support.runs import machine
from tests.support.scopes import in_threads, unrolled

pytestmark = [pytest.mark.usefixtures("attached")]

# A pass reads it that does not run where a loop is unrolled.
IDLE = {"slp-threshold": 7}


def four(mode: Any = "error", **more: object) -> OptionContext:
    return OptionContext({"unroll-count": 4, **more}, base="defaults", unread=mode)


def told(work: Callable[[], object]) -> list[str]:
    """Texts of the warnings that the work gives."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        work()
    assert all(warning.category is UnreadOptionWarning for warning in seen)
    return [str(warning.message) for warning in seen]


def use(context: OptionContext, work: Callable[[], object] = unrolled) -> None:
    with context:
        work()


def compiled() -> None:
    assert compile_job(Job(SCALE + CALLS, "default<O1>", triple=X86)).error is None


def test_the_cause_is_told_and_names_a_reader() -> None:
    never = (option for option in registry().values() if option.scope == "unread")
    name = next(option.name for option in never if option.type == "bool")
    assert registry()[name].read_by == ()
    with record() as log, OptionContext({**IDLE, name: True}):
        unrolled()
    causes = {unread.name: unread.cause for unread in log.unread}
    assert causes.pop(name) == "nothing in this library reads it"
    assert causes["slp-threshold"].startswith("what reads it did not run (")
    assert "slpvectorizer::BoUpSLP" in causes["slp-threshold"]


def test_what_was_not_read_is_told_when_the_scope_ends() -> None:
    with pytest.raises(UnreadOptionError, match="did not read 1 of the options") as caught:
        use(four(**IDLE))
    assert caught.value.names == ("slp-threshold",)
    [text] = told(lambda: use(four("warn", **IDLE)))
    assert text == str(caught.value)
    assert "-slp-threshold=7: what reads it did not run" in text
    assert "-unroll-count" not in text
    assert told(lambda: use(four("ignore", **IDLE))) == []
    with pytest.raises(UnreadOptionError) as caught:
        use(four(**IDLE), int)
    assert str(caught.value).count("LLVM read no option under it") == 1, "several of one cause get it once"
    assert len(caught.value.causes) == 2


def test_every_use_is_judged_by_itself() -> None:
    context = four()
    use(context)
    with pytest.raises(UnreadOptionError):
        use(context, int)
    use(context)
    with pytest.raises(UnreadOptionError):
        use(context, lambda: use(OptionContext({"unroll-count": 2}, base="defaults")))
    use(context)


def test_it_is_judged_when_the_last_scope_is_left() -> None:
    context = four()
    with context:
        with context:
            pass
        unrolled()
    entered, left = threading.Event(), threading.Event()

    def first() -> None:
        with context:
            entered.set()
            left.wait()
            unrolled()

    def second() -> None:
        entered.wait()
        with context:
            pass
        left.set()

    in_threads([first, second])
    with pytest.raises(UnreadOptionError), context, context:
        pass


def test_reads_on_other_threads_inside_it_count() -> None:
    with four(), propagating(ThreadPoolExecutor(1)) as pool:
        assert pool.submit(unrolled).result() == 4
    with ThreadPoolExecutor(1) as outside:
        assert outside.submit(unrolled).result() == 1  # starts the thread, which may inherit
        with pytest.raises(UnreadOptionError, match="on a thread that is outside the scope"), four():
            assert outside.submit(unrolled).result() == 1


def test_reads_in_scopes_inside_it_count_as_far_as_they_see_the_override() -> None:
    with four(), OptionContext(IDLE), OptionContext({"inline-threshold": 3}):
        unrolled()
    outer = four("warn", regalloc="basic")
    inside = OptionContext({"unroll-count": 2, "regalloc": "fast"}, base=outer)
    [text] = told(lambda: use(outer, lambda: use(inside, compiled)))
    assert "-unroll-count=4: " in text
    assert "-regalloc=basic: " in text  # LLVM reads a copy of it that it made inside
    assert told(lambda: use(outer, compiled)) == []
    apart = OptionContext({"inline-threshold": 3}, base="defaults")
    with pytest.raises(UnreadOptionError):
        use(four(), lambda: use(apart))


def test_a_failing_block_is_not_masked() -> None:
    def fail() -> None:
        raise KeyError

    def caught() -> None:
        with pytest.raises(KeyError):
            use(four(), fail)

    with pytest.raises(KeyError):  # warnings are errors here
        use(four("warn"), fail)
    [text] = told(caught)
    assert "-unroll-count=4" in text


def test_contexts_made_from_one_another_keep_the_mode() -> None:
    from_args = OptionContext.from_args("-unroll-count=4 -slp-threshold=7", base="defaults", unread="error")
    derived = four().derive(IDLE)
    copied = pickle.loads(pickle.dumps(four(**IDLE)))  # as in another process
    for context in (from_args, derived, copied, four("ignore").derive(IDLE, unread="error")):
        with pytest.raises(UnreadOptionError) as caught:
            use(context)
        assert caught.value.names == ("slp-threshold",)
    assert told(lambda: use(derived.derive(unread="ignore"))) == []
    assert told(lambda: use(OptionContext(IDLE, base=four("warn")))) == []  # its own mode is "ignore"
    inheriting = OptionContext({"inline-threshold": 3}, base=four("warn", **IDLE), unread="warn")
    [text] = told(lambda: use(inheriting))
    assert "-slp-threshold" not in text  # what it inherits is not its own
    assert four() == four("ignore")
    assert hash(four()) == hash(four("ignore"))


def test_a_bound_context_is_judged_when_it_is_unbound(llvm_context: Any) -> None:
    context = four("warn", **{"align-all-blocks": 5}, **IDLE)
    context.bind(llvm_context)

    def work() -> None:
        with binding.parse_assembly(COUNTED, llvm_context) as module, machine() as target:
            optctx.run_passes(module, UNROLL)
            optctx.emit_object(module, target)
        use(context, int)

    assert told(work) == []
    [text] = told(lambda: optctx.unbind(llvm_context))
    assert "read 1 of the options" in text
    assert "-slp-threshold=7: " in text
