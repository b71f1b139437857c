"""What a thread may do in a scope of its own, beside what all random programs do, and what it must see."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Callable, Generator
from typing import Final

from llvmlite import binding

import optctx
from optctx import (
    CompileCache,
    OptctxError,
    OptionContext,
    UnreadOptionError,
    emit_assembly,
    record,
)
from tests.long.fuzz.bases import attributed
from tests.promises.answers import JOB
from tests.promises.model import Sight, key_of
from tests.promises.program import Step
from tests.promises.running import Run, WrongError, by_optctx, expect, expect_code, new_machine
from tests.support.ir_texts import UNROLL, X86, counted

_UNREAD = {"arm-parallel-dsp-load-limit": "3"}  # nothing here generates code for Arm

# One for the whole run, and one for the whole process.
_FOLDER = tempfile.mkdtemp(prefix="optctx-soak-")
atexit.register(shutil.rmtree, _FOLDER)
_cache = functools.cache(lambda: CompileCache(_FOLDER))
_machine = functools.cache(new_machine)
_fingerprints: dict[object, str] = {}


def held(run: Run, step: Step, inner: Sight) -> Generator[None, None, None]:
    with OptionContext(dict(step.options)):
        yield
        run.look(inner)
        yield


def generator(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    """A scope that a generator holds, left by its end, by `close` or by its deletion."""
    holder = held(run, step, inner)
    next(holder)
    next(holder)
    if step.other % 3 == 0:
        next(holder, None)
    elif step.other % 3 == 1:
        holder.close()
    del holder
    run.look(here)


def unread(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    try:
        with OptionContext({**dict(step.options), **_UNREAD}, unread="error"):
            _look(run, inner)
    except UnreadOptionError as error:
        expect(set(_UNREAD) <= set(error.names), True, f"{error.names} were not read")
    else:
        raise WrongError("nothing is said of an option that nothing reads")
    run.look(here)


def fingerprint(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    """Equal values have equal fingerprints, on whatever thread."""
    with OptionContext(dict(step.options)), record() as log:
        _look(run, inner)
    found = _fingerprints.setdefault((inner.llvm, inner.current), log.fingerprint())
    expect(log.fingerprint(), found, "the fingerprint of equal values")


def cached(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    with OptionContext(dict(step.options)):
        found = _cache().compile(JOB.ir, JOB.passes, triple=X86, emit="assembly")
    expect(found.code, run.answers.optctx[inner.llvm or ()].code, "the code of a cache")


def machine(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    """One target machine for the whole process, under any scope."""
    with OptionContext(dict(step.options)), binding.create_context() as own:
        run.compile(own, _machine(), inner.llvm)


def attribute(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    with OptionContext(dict(step.options)), binding.create_context() as own, new_machine() as machine:
        optctx.attach(attributes="error")  # detaching ends it, and is refused for now
        wanted = key_of({**dict(inner.llvm or ()), "unroll-count": "4"})
        run.compile(own, machine, wanted, attributed(str(JOB.ir), '"optctx"="-unroll-count=4"'))


def errors(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    """Errors from inside LLVM."""
    bad = counted("bad", '"optctx"="-unroll-count=x"')
    module = binding.parse_assembly(bad, binding.create_context())
    work: list[Callable[[], object]] = [
        lambda: optctx.run_passes(module, UNROLL),
        lambda: optctx.run_passes(module, "no-such-pass"),
        lambda: emit_assembly(module, new_machine()),
        lambda: OptionContext({"unroll-count": "x"}),
        lambda: OptionContext({"unrol-count": "1"}),
        lambda: OptionContext.from_module(module),
    ]
    try:
        with OptionContext(dict(step.options)):
            optctx.attach(attributes="error")  # detaching ends it, and is refused for now
            work[step.other]()
    except OptctxError:
        pass
    else:
        raise WrongError("no error")
    run.look(here)


def _look(run: Run, inner: Sight) -> None:
    expect_code(by_optctx, run.answers.optctx, inner.llvm, "LLVM's code")


_ALL = (generator, unread, fingerprint, cached, machine, attribute, errors)
INSIDE: Final = {each.__name__: each for each in _ALL}
