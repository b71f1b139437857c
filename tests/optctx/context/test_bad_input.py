"""Bad input: one clear Python error, nothing from LLVM on standard error, nothing changed."""

from __future__ import annotations

import pathlib
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
from tests.support.processes import run_python


def generate() -> Iterator[None]:
    yield


def blank() -> OptionContext:
    return OptionContext(base="defaults")  # attaches, which collecting the tests must not


LONG = "x" * 1_000_000
generate.__qualname__ = LONG
# Quoted by LLVM, in the repr of a context or of another object, or by its name.
LONG_INPUT: dict[str, Callable[[], object]] = {
    **{
        f"{name} = {type(value)}": partial(OptionContext, {name: value})
        for name in ("unroll-count", "pgo-analysis-map")
        for value in (LONG, [LONG], 10**20_000, b"x" * 10**6)
    },
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
    "a module": lambda: CompileCache().compile(LONG, "verify"),
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


def test_a_library_that_does_not_check_out_is_an_error_and_stays_as_it_is(tmp_path: pathlib.Path) -> None:
    """One that is no LLVM, and one whose file has become something else."""
    run_python(f"""
        import ctypes, os, shutil, signal, sys
        from tests.support.library_code import changed_code
        import optctx.hosts.llvmlite
        from optctx import _native
        host = sys.modules["optctx.hosts.llvmlite.llvmlite_host"]
        signal.alarm(60)  # waiting for what another process writes into a pipe would have no end
        other = next(path for path, base in _native.loaded_libraries() if "/libm.so" in path)

        def refused(words):
            for use in (optctx.attach, lambda: optctx.OptionContext(unroll_count=4), optctx.registry):
                try:
                    use()
                except optctx.UnsupportedImageError as error:
                    assert words in str(error), error
                else:
                    raise AssertionError("attached to what is no LLVM")
            assert words in optctx.info()["error"]
            assert optctx.info()["images"] == []
            assert changed_code() == []

        host._library_path = lambda: other
        refused(os.path.basename(other))
        path = shutil.copy(other, {str(tmp_path / "library.so")!r})
        library = ctypes.CDLL(path)
        os.unlink(path)
        host._library_path = lambda: path
        _native.loaded_libraries = host.loaded_libraries = lambda: [(path, library._handle)]
        os.mkfifo(path)
        refused("not a regular file")
    """)
