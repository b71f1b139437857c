"""A program with an LLVM of its own and without llvmlite: contexts reach that LLVM by addresses alone.

python -m tests.optctx.hosts.own_llvm LIBRARY EXPECTED

EXPECTED is a file with the digests of fresh processes as JSON: by the argument that a process was given, ""
for none. What the program compiles is compared with them. It prints nothing. Each part has a child of fork.
"""

from __future__ import annotations

import ctypes
import json
import pathlib
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, c_void_p
from functools import partial
from typing import Any

import optctx
from optctx import OptionContext, loaded_image
from tests.support.bare_llvm import JOBS, BareLlvm
from tests.support.processes import in_child

for name in [name for name in sys.modules if name.partition(".")[0] == "llvmlite"]:
    raise AssertionError(f"{name} is imported")
sys.modules["llvmlite"] = None  # type: ignore[assignment]  # importing it is an error from here on

llvm = BareLlvm(sys.argv[1])
image = loaded_image(sys.argv[1])
expected = json.loads(pathlib.Path(sys.argv[2]).read_text())
counts = [int(argument.partition("=")[2]) for argument in expected if argument]


def error_of(call: Callable[[], object]) -> str:
    try:
        call()
    except (optctx.OptctxError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("no error")


def on_threads(work: Callable[[int], None]) -> None:
    """Call it for each count, at once."""
    with ThreadPoolExecutor(len(counts)) as pool:
        for _ in pool.map(work, counts * 2):
            pass


def bindings() -> None:
    """LLVMContexts with values of their own, on threads outside any scope, whatever holds the address."""
    forms: list[Callable[[int], object]] = [
        int,
        c_void_p,
        lambda address: ctypes.cast(address, POINTER(c_void_p)),
        lambda address: ctypes.cast(address, POINTER(type("OpaqueContext", (ctypes.Structure,), {}))),
    ]

    def work(count: int) -> None:
        made = OptionContext(unroll_count=count, image=image)
        for form in forms:

            def begin(address: int, form: Callable[[int], object] = form) -> None:
                assert optctx.bound(form(address), image) is None
                made.bind(form(address))
                assert optctx.bound(address, image) is made
                assert optctx.lookup("unroll-count", llvm_context=form(address), image=image) == count

            assert llvm.digests(begin) == expected[f"-unroll-count={count}"]
        assert llvm.digests() == expected[""], "disposing of an LLVMContext has ended its binding"

    on_threads(work)
    made = OptionContext(unroll_count=4, image=image)
    with llvm.module("", made.bind) as (context, _):
        assert "is bound to" in error_of(lambda: made.bind(context))
        assert "LLVMContext" in error_of(lambda: optctx.detach(image))
        optctx.unbind(c_void_p(context), image)
        assert optctx.bound(context, image) is None
        assert "no context is bound to it" in error_of(lambda: optctx.unbind(context, image))
    optctx.detach(image)
    assert llvm.digests() == expected[""]
    optctx.attach(image, outside="defaults")
    llvm.library.LLVMPY_SetCommandLine(b"", b"-unroll-count=4")
    assert llvm.digests() == expected[""], "outside every scope it reads what was registered"
    optctx.attach(image, outside="allow")
    assert llvm.digests() == expected["-unroll-count=4"]


def refused_sets() -> None:
    """What a scope or an attribute cannot set is told to a hook, because no call can raise it."""
    heard: list[Any] = []
    sys.unraisablehook = heard.append
    with OptionContext(unroll_count=4, image=image):
        llvm.set_option("-time-passes")
        llvm.set_option("-inline-threshold=2")
    assert [type(each.exc_value) for each in heard] == [optctx.ContainmentWarning] * 2
    assert "'time-passes' was set for the whole process" in str(heard[0].exc_value)
    assert "'inline-threshold'. Code that sets it once" in str(heard[1].exc_value)
    heard.clear()
    optctx.attach(image, attributes="error")
    text = JOBS["count"].replace(") {", ') "optctx"="-time-passes" {', 1)
    assert '"optctx"' in text
    with llvm.module(text) as (_, module):
        before = llvm.text(module)
        llvm.run(module)
        assert llvm.text(module) == before
    assert {type(each.exc_value) for each in heard} == {optctx.UntrustedOptionError}


def mistakes() -> None:
    """What is no address is one clear error, whatever takes it; nothing is bound or written."""
    with llvm.module("") as (context, _):
        make_mistakes(context)


def make_mistakes(context: int) -> None:
    made = OptionContext(unroll_count=4, image=image)
    uses: list[tuple[str, Callable[[Any], object]]] = [
        ("an LLVMContext", made.bind),
        ("an LLVMContext", lambda wrong: optctx.bound(wrong, image)),
        ("an LLVMContext", lambda wrong: optctx.unbind(wrong, image)),
        ("an LLVMContext", lambda wrong: optctx.lookup("unroll-count", llvm_context=wrong, image=image)),
        ("a module", lambda wrong: optctx.stamp(wrong, made)),
        ("a module", lambda wrong: OptionContext.from_module(wrong, image=image)),
        ("a module", lambda wrong: optctx.check_link([wrong], image=image)),
    ]
    assert 'use "switch"' in error_of(lambda: made.bind(context, on_mismatch="error"))
    assert 'use "switch"' in error_of(lambda: made.bind(context, on_mismatch="warn"))
    assert 'use "defaults"' in error_of(lambda: optctx.attach(image, outside="error"))
    assert 'use "defaults"' in error_of(lambda: optctx.attach(image, outside="warn"))
    wild = ctypes.create_string_buffer(b"\x11" * 64)
    for what, use in uses:
        for wrong in (True, image):
            said = error_of(partial(use, wrong))
            assert said.startswith(f"TypeError: expected the address of {what} (an int, "), said
            assert said.endswith(f"found {type(wrong).__module__}.{type(wrong).__name__}"), said
        for null, found in ((c_void_p(), 0), (1 << 64, 1 << 64)):
            said = error_of(partial(use, null))
            assert said == f"OptctxError: expected the address of {what}, found {found:#x}", said
        for nowhere in (c_void_p(16), ctypes.addressof(wild)):
            said = error_of(partial(use, nowhere))
            assert said.startswith(f"OptctxError: expected {what} at "), said
    assert optctx.bound(context, image) is None
    said = error_of(optctx.current)
    assert "no LLVM in this process" in said
    assert "install llvmlite with: pip install" in said


if __name__ == "__main__":
    optctx.attach(image)
    for part in (mistakes, bindings, refused_sets):
        in_child(part)
    assert sys.modules["llvmlite"] is None
    assert not [name for name in sys.modules if name.startswith("llvmlite.")]
