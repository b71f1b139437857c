"""Contexts in LLVM's own source, in a libLLVM that `make upstream` links from the patched archives."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from evidence.strategies.strategy import Strategy
from optctx import libllvm
from optctx.compiling import Job, Result
from optctx.errors import OptctxError, OptionValueError


class SourceStrategy(Strategy):
    """A `cl::OptionContextScope` of the prototype: the patched classes read the thread's values.

    optctx redirects nothing in this process.
    """

    name = "source"
    source = "evidence/upstream: cl::OptionContext, patches of LLVM's source"

    def __init__(self) -> None:
        super().__init__()
        self._c: ctypes.CDLL | None = None

    def prepare(self) -> None:
        """Load the library."""
        libllvm.open(self.llvm)

    def process_options(self) -> dict[str, object]:
        """The options that have occurrences for the process."""
        names = ctypes.create_string_buffer(1 << 16)
        self._functions().optctx_prototype_given(names, len(names))
        return dict.fromkeys(names.value.decode().split())

    def run_tool(self, job: Job) -> Result:
        empty = self._scope(())
        try:
            return super().run_tool(job)
        finally:
            self._leave(empty)

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> ctypes.c_void_p:
        return self._scope(inside)

    def _scope(self, options: Sequence[str]) -> ctypes.c_void_p:
        words = (ctypes.c_char_p * len(options))(*(each.encode() for each in options))
        said = ctypes.create_string_buffer(1 << 12)
        entered = self._functions().optctx_prototype_enter(words, len(words), said, len(said))
        if not entered:
            raise OptionValueError(" ".join(said.value.decode().split()))
        return ctypes.c_void_p(entered)

    def _leave(self, kept: ctypes.c_void_p) -> None:
        self._functions().optctx_prototype_leave(kept)

    def _functions(self) -> ctypes.CDLL:
        """Those of evidence/upstream/cpp/scopes.cpp."""
        if self._c is None:
            self._c = ctypes.CDLL(self.llvm)
            try:
                self._c.optctx_prototype_enter.restype = ctypes.c_void_p
            except AttributeError:
                raise OptctxError(
                    f"cannot use {self.llvm} for {self.name!r}: expected the libLLVM of the prototype; `make "
                    "upstream` links it"
                ) from None
        return self._c
