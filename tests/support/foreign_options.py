"""tests/programs/cpp/foreign_option.cpp, a library that registers an option with the LLVM of this process."""

from __future__ import annotations

import _ctypes
import ctypes
import pathlib
from ctypes import c_char_p, c_size_t, c_uint, c_void_p

from optctx.engine.attach import made
from optctx.engine.host import default_host
from optctx.image.registry_reader import read_registry

NAME = "foreign-count"
HELP = "How often this library unrolls."
INITIAL = 3

_kept: list[bytes] = []  # names and help texts, which LLVM keeps pointers to


class ForeignLibrary:
    """The library, loaded. Attaches nothing. Make it outside scopes."""

    def __init__(self, path: pathlib.Path) -> None:
        image, engine = default_host().image(), made()
        survey = read_registry(image) if engine is None else engine.survey.registry
        self._model = next(option for option in survey.options if option.name == "unroll-count")
        self._add = c_void_p(image.symbol("_ZN4llvm2cl6Option11addArgumentEv"))
        self._remove = c_void_p(image.symbol("_ZN4llvm2cl6Option14removeArgumentEv"))
        self._library = ctypes.CDLL(str(path))
        self._library.read_option.restype = c_uint

    def register(self, name: str = NAME) -> None:
        """Register the option, as loading does with a static cl::opt<unsigned>."""
        model = self._model
        _kept.extend((name.encode(), HELP.encode()))
        self._library.register_option(
            c_void_p(model.address),
            c_size_t(model.size or 0),
            c_size_t(model.value_offset),
            c_char_p(_kept[-2]),
            c_char_p(_kept[-1]),
            c_uint(INITIAL),
            self._add,
        )

    def remove(self) -> None:
        """Take the option back, as a library does that is unloaded properly."""
        self._library.remove_option(self._remove)

    def unload(self) -> None:
        """Unload the library, whatever LLVM has of it."""
        _ctypes.dlclose(self._library._handle)
        del self._library

    def read(self) -> int:
        """What the library's own code reads."""
        return int(self._library.read_option())
