"""A program with an LLVM of its own and without llvmlite: contexts reach that LLVM by addresses alone.

python -m tests.optctx.hosts.own_llvm LIBRARY EXPECTED

EXPECTED is a file with the digests of fresh processes as JSON: by the argument that a process was given, ""
for none. What the program compiles is compared with them. It prints nothing. Each part has a child of fork.
"""

from __future__ import annotations

import ctypes
import json
import pathlib
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, c_void_p
from functools import partial
from typing import Any

import optctx
from optctx import OptionContext, loaded_image
from tests.support.bare_llvm import JOBS, BareLlvm
from tests.support.own_llvm import error_of
from tests.support.processes import in_child

for name in [name for name in sys.modules if name.partition(".")[0] == "llvmlite"]:
    raise AssertionError(f"{name} is imported")
sys.modules["llvmlite"] = None  # type: ignore[assignment]  # importing it is an error from here on

llvm = BareLlvm(sys.argv[1])
image = loaded_image(sys.argv[1])
expected = json.loads(pathlib.Path(sys.argv[2]).read_text())
counts = [int(argument.partition("=")[2]) for argument in expected if argument]


def bindings() -> None:
    """LLVMContexts with values of their own, on threads outside any scope, whatever holds the address."""
    forms: list[Callable[[int], object]] = [
        int,
        c_void_p,
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

    with ThreadPoolExecutor(len(counts)) as pool:
        list(pool.map(work, counts))
    made = OptionContext(unroll_count=4, image=image)
    with llvm.module("", made.bind) as (context, _):
        assert "LLVMContext" in error_of(lambda: optctx.detach(image))
        optctx.unbind(c_void_p(context), image)
        assert optctx.bound(context, image) is None
    optctx.detach(image)
    assert llvm.digests() == expected[""]
    optctx.attach(image, outside="defaults")
    llvm.set_option("-unroll-count=4")
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
    heard.clear()
    optctx.attach(image, attributes="error")
    with llvm.module(JOBS["count"].replace(") {", ') "optctx"="-time-passes" {', 1)) as (_, module):
        before = llvm.text(module)
        llvm.run(module)
        assert '"optctx"' in llvm.text(module) == before
    assert {type(each.exc_value) for each in heard} == {optctx.UntrustedOptionError}


def mistakes() -> None:
    """What is no address is one clear error, whatever takes it; nothing is bound or written."""
    made = OptionContext(unroll_count=4, image=image)
    uses: tuple[Callable[[Any], object], ...] = (
        made.bind,
        partial(optctx.bound, image=image),
        partial(optctx.unbind, image=image),
        lambda wrong: optctx.lookup("unroll-count", llvm_context=wrong, image=image),
        lambda wrong: optctx.stamp(wrong, made),
        partial(OptionContext.from_module, image=image),
        lambda wrong: optctx.check_link([wrong], image=image),
    )
    wild = ctypes.create_string_buffer(b"\x11" * 64)
    for use in uses:
        for wrong in (True, image, c_void_p(), 1 << 64, c_void_p(16), ctypes.addressof(wild)):
            assert re.match(
                r"\w+: expected (the address of )?(an LLVMContext|a module)", error_of(partial(use, wrong))
            )
    with llvm.module("") as (context, _):
        for checked in ("error", "warn"):  # which has no call that could raise it
            assert 'use "switch"' in error_of(partial(made.bind, context, on_mismatch=checked))
            assert 'use "defaults"' in error_of(partial(optctx.attach, image, outside=checked))
        assert optctx.bound(context, image) is None
    assert "install llvmlite with: pip install" in error_of(optctx.current)


if __name__ == "__main__":
    optctx.attach(image)
    for part in (mistakes, bindings, refused_sets):
        in_child(part)
    assert sys.modules["llvmlite"] is None
    assert not [name for name in sys.modules if name.startswith("llvmlite.")]
