"""Random programs on threads for as long as one likes: more than those of `make test`, and with more in them.

The programs are those of tests/promises. A thread may do more in a scope of its own.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Final

from hypothesis import Phase
from llvmlite import binding

import optctx
from optctx import CompileCache, OptctxError, OptionContext, UnreadOptionError, emit_assembly, record
from tests.long.fuzz.modules import attributed
from tests.promises.answers import JOB, known_answers
from tests.promises.checking import agree_with_the_model
from tests.promises.model import Sight, key_of
from tests.promises.program import Step
from tests.promises.running import Run, WrongError, by_optctx, expect, expect_code
from tests.support.ir_texts import UNROLL, X86, counted
from tests.support.processes import in_child
from tests.support.runs import machine as new_machine

_MOST = 10  # findings before giving up
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if nothing was found, 1 if something was."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the first programs")
    parser.add_argument("--programs", type=int, default=20, help="of each seed")
    options = parser.parse_args(arguments)
    answers = known_answers()
    until = time.monotonic() + 60 * options.minutes
    number, found = options.seed, 0
    drawn = {"max_examples": options.programs, "phases": (Phase.generate, Phase.shrink)}
    while found < _MOST:
        try:
            in_child(partial(agree_with_the_model, answers, INSIDE, number, **drawn))  # prints it
        except AssertionError:
            print(f"FOUND seed {number}", flush=True)
            found += 1
        number += 1
        if time.monotonic() >= until:
            break
    print(f"{(number - options.seed) * options.programs} programs, {found} found")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
