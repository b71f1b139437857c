"""Operations on scopes: nested, in generators, on threads that end, carried to other threads."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from llvmlite import binding

from optctx import (
    OptctxError,
    OptionContext,
    ScopeError,
    UnreadOptionError,
    contained,
    current,
    propagating,
    record,
    tool,
    wrap,
)
from optctx.compiling import compile_job
from tests.long.soak.actor import Actor, Options, WrongError, context_of, expect
from tests.long.soak.answers import job
from tests.long.soak.inputs import key_of

__all__ = [
    "died_inside",
    "exceptions",
    "generators",
    "interleaved",
    "lookups",
    "pools",
    "recording",
    "scopes",
    "set_inside",
    "unread",
    "wrapped",
]

UNREAD = {"arm-parallel-dsp-load-limit": "3"}  # nothing here generates code for Arm


def scopes(actor: Actor) -> None:
    outer, inner = actor.options(), actor.options()
    with context_of(outer):
        actor.check(outer)
        with context_of(inner):
            actor.check(outer, inner)
        if actor.rng.random() < 0.5:
            actor.check(outer)
    actor.check()


def set_inside(actor: Actor) -> None:
    """Options that LLVM's own setter is given inside a scope, which end with it."""
    outer, inner = actor.options(), actor.options()
    with context_of(outer):
        with contained() as context:
            for name, text in inner.items():
                binding.set_option("", f"-{name}={text}")
            actor.check(outer, inner)
            seen, wanted = context.with_sets(), context_of({**outer, **inner})
            right = all(seen[name] == wanted[name] for name in wanted.overrides)
            expect(right, f"{seen!r} is what was set inside, not {wanted!r}")
            if actor.rng.random() < 0.5:
                with tool():
                    actor.check()
                actor.check(outer, inner)
        actor.check(outer)
    actor.check()


def lookups(actor: Actor) -> None:
    options = actor.options()
    for _ in range(actor.rng.randrange(1, 50)):
        context = context_of(options, base="defaults")
        with context:
            expect(current() is context, f"the current context is {current()!r} inside {context!r}")
            again = OptionContext.from_args(context.args(), base="defaults")
            expect(again == context, f"{again!r} is not equal to {context!r}")
    expect(not current().overrides, f"outside of scopes the current context is {current()!r}")


def exceptions(actor: Actor) -> None:
    outer, inner = actor.options(), actor.options()
    with context_of(outer):
        try:
            with context_of(inner):
                actor.check(outer, inner)
                raise KeyError("of the block")
        except KeyError:
            pass
        actor.check(outer)
    actor.check()


def generators(actor: Actor) -> None:
    """A scope held by a generator, left by its end, by `close` or by its deletion."""
    outer, inner = actor.options(), actor.options()

    def held(options: Options) -> Iterator[None]:
        with context_of(options):
            yield
            actor.check(outer, options)
            yield

    with context_of(outer):
        generator = held(inner)
        next(generator)
        actor.check(outer, inner)
        next(generator)
        how = actor.rng.randrange(3)
        if how == 0:
            next(generator, None)
        elif how == 1:
            generator.close()  # type: ignore[attr-defined]
        del generator
        actor.check(outer)
    actor.check()


def interleaved(actor: Actor) -> None:
    """Two generators leave their scopes in the wrong order: an error, and nobody stays inside."""

    def held(options: Options) -> Iterator[None]:
        with context_of(options):
            yield

    first, second = held(actor.options()), held(actor.options())
    next(first)
    next(second)
    for generator in (first, second, first):
        with contextlib.suppress(ScopeError):
            next(generator, None)
    del first, second, generator
    actor.check()


def died_inside(actor: Actor) -> None:
    """A thread that ends inside its scopes."""
    failures: list[BaseException] = []
    outer, inner = actor.options(), actor.options()

    def work() -> None:
        try:
            context_of(outer).__enter__()
            context_of(inner).__enter__()
            actor.check(outer, inner)
        except BaseException as error:  # handed to the thread that waits
            failures.append(error)

    thread = threading.Thread(target=contextvars.Context().run, args=(work,))
    thread.start()
    thread.join()
    if failures:
        raise failures.pop()
    actor.check()


def wrapped(actor: Actor) -> None:
    options, elsewhere = actor.options(), actor.options()
    with context_of(options):
        check = wrap(actor.check)
    with context_of(elsewhere):
        check(options)
        actor.check(elsewhere)
    context = contextvars.copy_context()
    with context_of(options):
        inside = contextvars.copy_context()
    with binding.create_context() as bound:
        OptionContext().bind(bound)  # other threads cannot detach now: a carried scope would have no effect
        inside.run(actor.check, options)
    context.run(actor.check)


def pools(actor: Actor) -> None:
    options = actor.options()
    names = [actor.module() for _ in range(3)]
    actor.compiled += len(names)
    with propagating(ThreadPoolExecutor(2)) as pool:
        with context_of(options):
            compiled = pool.map(compile_job, map(job, names))
        # Waiting inside would hold up a thread in "exclusive", which in turn holds up the pool.
        results = list(compiled)
    for name, result in zip(names, results, strict=True):
        actor.judge(result, name, options)


def recording(actor: Actor) -> None:
    """What is read, and by which values; the outer recorder sees it, too."""
    options = actor.options()
    name = actor.module()
    with record() as outer, context_of(options), record() as log:
        actor.compare(name, options, by_optctx=True)
    reads = log.reads
    expect("inline-threshold" in reads, f"{sorted(reads)} were read")
    for option, text in options.items():
        if option in reads:
            value = reads[option].value
            expect(str(value).lower() == text, f"{option} was read as {value!r} inside {options}")
    expect(log.names <= outer.names, "the outer recorder misses reads")
    prints = actor.shared.fingerprints.setdefault((name, key_of(options)), log.fingerprint())
    expect(prints == log.fingerprint(), f"{name} under {options} has another fingerprint")


def unread(actor: Actor) -> None:
    options = actor.options()
    try:
        with context_of({**options, **UNREAD}, unread="error"):
            actor.compare("scale", options, by_optctx=actor.rng.random() < 0.5)
    except UnreadOptionError as error:
        expect(set(UNREAD) <= set(error.names), f"{error.names} were not read")
    else:
        raise WrongError("nothing is said of an option that nothing reads")
    try:
        with context_of({"unroll-count": "4"}, unread="error"):
            actor.compare("scale", {"unroll-count": "4"}, by_optctx=True)
    except OptctxError as error:
        raise WrongError(f"unroll-count was read: {error}") from None
