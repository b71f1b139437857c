"""Garbage collections at any allocation: finalisers and callbacks enter and leave scopes inside other work.

Before Python 3.12 an allocation runs the collector, inside a native step as well. Later versions run it
between two instructions of the interpreter. Everything runs in processes of its own.
"""

from __future__ import annotations

import pytest
from support import run_python

pytestmark = pytest.mark.redirected

# `collecting` does work while every second allocation collects garbage. Nothing catches what a collection
# raises, so it is kept.
PROGRAM = """
    import contextlib, gc, sys, weakref
    from interrupts import state, works
    from optctx import OptionContext, _native, current
    from optctx.context.scope import _innermost
    from support import four, unrolled

    inner, problems, runs = OptionContext({"unroll-count": 8}, base="defaults"), [], [0]

    def seen():
        return _innermost.get(None), _native.in_line()

    def enter_and_leave(*_):
        runs[0] += 1
        before = seen()
        try:
            with inner:
                assert current() is inner
                inner.run(int)
        except BaseException as error:
            problems.append(repr(error))
        if seen() != before:
            problems.append(f"{before} became {seen()}")

    collects = [False]

    class Garbage:  # each one leaves another for the next collection
        def __init__(self):
            self.itself = self

        def __del__(self):
            if collects[0]:
                type(self)()

    class Finalised(Garbage):
        def __del__(self):
            enter_and_leave()
            super().__del__()

    class Watched(Garbage):
        def __init__(self):
            super().__init__()
            references[:] = [weakref.ref(self, enter_and_leave)]

    references = []

    def suspended():
        with inner:
            yield

    class Suspended(Garbage):  # holds a scope, which ends with it
        def __init__(self):
            super().__init__()
            self.generator = suspended()
            with contextlib.suppress(BaseException):
                next(self.generator)

    def collecting(work, times, *litter):
        for _ in range(times):
            for each in litter:
                each()
            collects[0] = True
            gc.set_threshold(1)
            try:
                work()
            except BaseException as error:
                problems.append(repr(error))
            finally:
                gc.set_threshold(0)
                collects[0] = False
"""


@pytest.mark.parametrize("how", ["", "Finalised", "Watched"])
def test_scopes_of_a_collection_end_inside_whatever_it_interrupts(how: str) -> None:
    run_python(f"""{PROGRAM}
    work, times = works(), {4 if how == "Finalised" else 20}
    before = state()
    if not {how!r}:
        gc.callbacks.append(enter_and_leave)
    for name in ("empty", "nested", "generators", "run", "decorated", "wrapped", "recorded", "exclusive",
                 "unread warns", "compiled", "compiled in the global context", "emitted", "bound",
                 "detached"):
        collecting(work[name], times, {how})
        after = state()
        assert not problems, (name, problems[:3])
        assert after == before, (name, before, after)
    gc.callbacks.clear()
    assert runs[0] > 10 * times
    with four():
        assert unrolled() == 4
    """)


def test_a_scope_from_the_beginning_of_a_collection_to_its_end_is_whole() -> None:
    run_python(f"""{PROGRAM}
    work = works()
    before = state()
    entered = []

    def around(phase, _):
        runs[0] += 1
        try:
            if phase == "start":
                entered.append(inner.__enter__())
            else:
                entered.pop().__exit__(None, None, None)
        except BaseException as error:
            problems.append(repr(error))

    gc.callbacks.append(around)
    for name in ("empty", "nested", "run", "compiled"):
        collecting(work[name], 40, Finalised)
    gc.callbacks.clear()
    assert not problems and not entered, problems[:3]
    assert runs[0] > 100 and state() == before
    """)


def test_a_collection_leaves_the_scopes_that_only_garbage_holds() -> None:
    """They are left where possible: the scope that is being entered or left may be inside or around them."""
    run_python(f"""{PROGRAM}
    sys.unraisablehook = lambda _: None  # a generator cannot leave a scope that is not the innermost one
    outer = four()

    def work():
        for _ in range(5):
            with contextlib.suppress(Exception), outer:
                assert current() in (outer, inner)

    before = state()
    collecting(work, 200, Suspended)
    gc.collect()
    collecting(work, 1, Finalised)
    gc.collect()
    assert state() == before, (state(), before)
    assert not problems, problems[:3]
    with outer:
        assert unrolled() == 4
    """)
