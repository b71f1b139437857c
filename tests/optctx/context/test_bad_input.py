"""Bad input: one clear Python error, however much of it there is."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from llvmlite.binding import create_context, parse_assembly

from optctx import (
    CompileCache,
    OptctxError,
    OptionContext,
    propagating,
    run_passes,
)


def generate() -> Iterator[None]:
    yield


def blank() -> OptionContext:
    return OptionContext(base="defaults")  # attaches, which collecting the tests must not


LONG = "x" * 1_000_000
generate.__qualname__ = LONG
# Quoted by LLVM, in the repr of a context or of another object, or by its name.
LONG_INPUT: dict[str, Callable[[], object]] = {
    "a text": partial(OptionContext, {"unroll-count": LONG}),
    "a list": partial(OptionContext, {"pgo-analysis-map": [LONG]}),
    "a number": partial(OptionContext, {"pgo-analysis-map": 10**20_000}),
    "bytes": partial(OptionContext, {"unroll-count": b"x" * 10**6}),
    "a name": lambda: OptionContext({LONG: 1}),
    "an argument": lambda: OptionContext.from_args([f"-unroll-count={LONG}"]),
    "a type": lambda: blank().get("unroll-count", type(LONG, (), {})),
    "an attribute": lambda: getattr(blank(), LONG),
    "a function": lambda: blank().run(generate),
    "a context": lambda: OptionContext({"print-after": [LONG]}).__exit__(None, None, None),
    "unread": lambda: OptionContext({"print-after": [LONG]}, unread="error").run(int),
    "a mode": lambda: blank().bind(create_context(), on_mismatch=LONG),  # type: ignore[arg-type]
    "an executor": lambda: propagating(LONG),  # type: ignore[arg-type]
    "an open pipeline": lambda: run_passes(parse_assembly("", create_context()), "function(" * 100_000),
    "a module": lambda: CompileCache(os.environ["XDG_CACHE_HOME"]).compile(LONG, "verify"),
}


def test_no_message_is_long_because_the_input_is() -> None:
    wrong = []
    for what, attempt in LONG_INPUT.items():
        with pytest.raises((OptctxError, AttributeError, TypeError)) as raised:
            attempt()
        text = "".join(traceback.format_exception(raised.value))
        size, again = len(str(raised.value)), text.count("x" * 1000)  # in the exceptions that led to it
        if not 20 < size < 3000 or again >= 4:
            wrong.append((what, size, again))
    assert wrong == []
