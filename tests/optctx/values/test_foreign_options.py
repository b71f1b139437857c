"""Options that another library registers with LLVM: no part of the registry, and refused by name."""

from __future__ import annotations

import _ctypes
import ctypes
import pathlib
from ctypes import c_char, c_uint, c_uint16, c_uint64, c_void_p

import pytest

from optctx import OptionContext, current, drift, registry
from optctx.errors import UnknownOptionError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.registry_reader import read_registry
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, compile_cpp
from tests.support.library_code import read_words
from tests.support.native_interface import NativeScope
from tests.support.scopes import four, set_option, unrolled

NAME = "foreign-count"
NOT_REGISTERED = 0x4000  # a bit of an option's flags, inverted


class ForeignLibrary:
    """A library with a cl::opt<unsigned> of its own, as a plugin has it: a copy of LLVM's `unroll-count`."""

    def __init__(self, folder: pathlib.Path) -> None:
        source, image = folder / "foreign.cpp", llvmlite_image()
        source.write_text('extern "C" { alignas(16) unsigned char option[1024]; }')
        path = compile_cpp(source, folder / "libforeign.so", *SHARED)
        self._library, self._name = ctypes.CDLL(str(path)), ctypes.create_string_buffer(NAME.encode())
        self._at = ctypes.addressof(c_char.in_dll(self._library, "option"))
        add = image.named("_ZN4llvm2cl6Option11addArgumentEv")
        assert add is not None
        self._add = ctypes.CFUNCTYPE(None, c_void_p)(add.address)
        found = read_registry(image)
        model = next(option for option in found.options if option.name == "unroll-count")
        words = (c_uint64 * ((model.size or 0) // 8)).from_address(self._at)
        for at, word in enumerate(read_words(model.address, len(words))):
            inside = 0 <= word - model.address < ctypes.sizeof(words)
            words[at] = word - model.address + self._at if inside else word
        words[2], words[3] = ctypes.addressof(self._name), len(NAME)
        c_uint16.from_address(self._at + 0x0A).value &= ~NOT_REGISTERED
        self.value = c_uint.from_address(self._at + found.value_offset)

    def register(self) -> None:
        self._add(self._at)

    def unload(self) -> None:
        """Whatever LLVM has of it: its map leads to memory that is not there any more."""
        _ctypes.dlclose(self._library._handle)


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


@pytest.mark.parametrize("attached_before", [False, True])
@alone
def test_an_option_of_another_library_is_refused_and_unknown_when_that_is_gone(
    tmp_path: pathlib.Path, attached_before: bool
) -> None:
    foreign = ForeignLibrary(tmp_path)
    names = set(registry()) if attached_before else set()
    foreign.register()
    check_refused(
        rf"'{NAME}' is no option of libllvmlite.so: libforeign.so registered it, .* "
        rf"with llvmlite.binding.set_option\('', '-{NAME}=...'\)"
    )
    assert not names or set(registry()) == names
    set_option(NAME, "9")  # as the message says
    assert foreign.value.value == 9
    foreign.unload()
    check_refused(f"no LLVM option is called '{NAME}' among the")
