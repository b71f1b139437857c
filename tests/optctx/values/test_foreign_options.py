"""Options that another library registers with LLVM: no part of the registry, and refused by name."""

from __future__ import annotations

import pathlib

import pytest

from optctx import OptionContext, current, drift, registry
from optctx.errors import UnknownOptionError
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, Build
from tests.support.foreign_options import NAME, ForeignLibrary
from tests.support.native_interface import NativeScope
from tests.support.scopes import four, set_option, unrolled


@pytest.fixture
def library(build: Build) -> pathlib.Path:
    # With unique symbols it could not be unloaded.
    return build("foreign_option.cpp", *SHARED, "-fno-gnu-unique")


def check_refused(why: str) -> None:
    """The doors of Python and of C++ refuse the name, with this text, and list no option of it."""
    before = OptionContext(unroll_count=2)
    for use in (lambda: registry()[NAME], lambda: OptionContext({NAME: 4})):
        with pytest.raises(UnknownOptionError, match=why):
            use()
    with pytest.raises(RuntimeError, match=f"no LLVM option is called '{NAME}'"):
        NativeScope({NAME: "4"})
    assert NAME not in {*registry(), *before}
    assert not drift()
    with four():
        assert (unrolled(), current()["unroll-count"]) == (4, 4)


REGISTERED = (
    rf"'{NAME}' is no option of libllvmlite.so: libforeign_option.so registered it, .* "
    rf"with llvmlite.binding.set_option\('', '-{NAME}=...'\)"
)
UNKNOWN = f"no LLVM option is called '{NAME}' among the"


@alone
def test_an_option_is_refused_while_it_is_registered_and_unknown_when_it_is_gone(
    library: pathlib.Path,
) -> None:
    """When the library is unloaded, LLVM's map leads to memory that is not there, as stock LLVM's does."""
    names = set(registry())
    foreign = ForeignLibrary(library)
    foreign.register()
    check_refused(REGISTERED)
    assert set(registry()) == names
    set_option(NAME, "9")  # as the message says
    assert foreign.read() == 9
    foreign.remove()
    check_refused(UNKNOWN)
    foreign.register()
    foreign.unload()
    check_refused(UNKNOWN)
