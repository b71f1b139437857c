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
from tests.support.processes import forked
from tests.support.scopes import four, set_option, unrolled

pytestmark = pytest.mark.usefixtures("attached")


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


@forked
def test_an_option_that_is_registered_after_attaching(library: pathlib.Path) -> None:
    names = set(registry())
    foreign = ForeignLibrary(library)
    foreign.register()
    check_refused(REGISTERED)
    assert set(registry()) == names
    set_option(NAME, "9")  # as the message says
    assert foreign.read() == 9
    check_refused(REGISTERED)
    foreign.remove()
    check_refused(UNKNOWN)


@alone  # in this process it may be loaded twice
def test_a_library_that_was_unloaded_leaves_nothing_that_is_read(library: pathlib.Path) -> None:
    """LLVM's map leads to memory that is not there any more, as stock LLVM's does after dlclose."""
    foreign = ForeignLibrary(library)
    foreign.register()
    check_refused(REGISTERED)
    foreign.unload()
    check_refused(UNKNOWN)
