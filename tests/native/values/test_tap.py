"""What LLVM reports while it parses a value is kept from other threads, and what they do is kept from it."""

from __future__ import annotations

import ctypes
import itertools
import os
import time
from pathlib import Path

import pytest

from optctx import OptctxError, OptionContext, OptionValueError, registry
from optctx.engine.attach import attach
from tests.support.processes import forked, in_child
from tests.support.scopes import meanwhile

REFUSING = 0.4  # seconds: some 6,000 values
# Values about which parsers complain at length: once for each part, or with the whole value.
HOSTILE = ("", "[", "\n" * 600, "+".join("a" * 300), ",".join("a" * 300))


@pytest.mark.usefixtures("attached", "outside")
@forked
def test_handlers_of_fatal_errors_come_and_go_while_another_thread_parses() -> None:
    """An LLVM with assertions aborts if one is installed while there is one."""
    image = attach().image
    installing = image.named("_ZN4llvm27install_fatal_error_handlerEPFvPvPKcbES0_")
    removing = image.named("_ZN4llvm26remove_fatal_error_handlerEv")
    assert installing is not None
    assert removing is not None
    install = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(installing.address)
    remove = ctypes.CFUNCTYPE(None)(removing.address)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_bool)
    def heard(_data: object, reason: bytes, _crash: bool) -> None:
        os.write(2, b"another thread's handler heard: " + reason)
        os._exit(1)

    def come_and_go() -> None:
        install(ctypes.cast(heard, ctypes.c_void_p), None)
        remove()

    end = time.monotonic() + REFUSING
    with meanwhile(come_and_go):
        while time.monotonic() < end:
            with pytest.raises(OptionValueError, match="brackets"):
                OptionContext({"pass-remarks": "["})


def test_no_value_of_any_option_makes_llvm_print(tmp_path: Path) -> None:
    """The parser of x86-align-branch writes a line for each part of a value, and then takes it."""
    printed = tmp_path / "printed"

    def give_everything() -> None:
        with printed.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        refused = 0
        for value, name in itertools.product(HOSTILE, registry()):
            try:
                OptionContext({name: value})
            except OptctxError:
                refused += 1
        assert 8_000 < refused < len(HOSTILE) * len(registry()) - 1_000

    in_child(give_everything)
    assert printed.read_bytes() == b""
