"""Functions that Numba compiles, with all that they call, up to where LLVM would optimise a module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba import _dynfunc
from numba.core import compiler, externals, utils
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.target_extension import target_override

from optctx.context import OptionContext
from optctx.numba.dispatcher import OptionsDispatcher
from optctx.numba.following import FollowingDispatcher
from optctx.numba.target import OptionsContext, OptionsTarget


def unoptimised(function: Any, kinds: Sequence[Any]) -> Any:
    """Compile a function for arguments of these types. Return Numba's result, whose library is not optimised.

    Options of the function and of those that it calls do not count. Raises as Numba does for a call that
    cannot be compiled.
    """
    with global_compiler_lock:
        made, signature = _target().own(function), tuple(kinds)
        if signature not in made.overloads:
            may, made._can_compile = made._can_compile, True  # also beside the only signatures of a function
            try:
                made.compile(signature)
            finally:
                made._can_compile = may
        found = made.overloads[signature]
        found.library._ensure_finalized()  # links what is called
        return found


class _Library(JITCodeLibrary):  # type: ignore[misc]
    def _optimize_final_module(self) -> None:
        """Leave the module as it is."""

    def _finalize_final_module(self) -> None:
        """Load nothing: LLVM's code generator would change the module."""
        self._finalized = True


class _Codegen(JITCPUCodegen):  # type: ignore[misc]
    _library_class = _Library


class _Context(OptionsContext):
    def init(self) -> None:
        self.is32bit = utils.MACHINE_BITS == 32
        self._internal_codegen = _Codegen("numba.exec")
        externals.c_math_functions.install(self)

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        """What stands for a function of which there is no code. Nothing calls it."""
        return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "", 0, env, (library,))


class _Dispatcher(OptionsDispatcher):
    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._compiler._customize_flags = _without_wrappers

    def enable_caching(self) -> None:
        """Keep nothing, and find nothing: what is kept is optimised."""


def _without_wrappers(flags: compiler.Flags) -> compiler.Flags:
    """What Python would call is not wanted, and needs Python."""
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    return flags


class _Target(OptionsTarget):
    context_class, dispatcher_base = _Context, _Dispatcher

    def __init__(self) -> None:
        super().__init__(OptionContext())

    @contextmanager
    def compiling(self) -> Iterator[None]:
        with global_compiler_lock, target_override(self.name):
            yield

    def own(self, value: Any) -> Any:
        if isinstance(value, OptionsDispatcher | FollowingDispatcher) and value.targetdescr is not self:
            return self._specialise(value, lambda function, target: target.dispatcher_class.like(function))
        return super().own(value)


@cache
def _target() -> _Target:
    """The target of this process. What functions call is compiled for it once."""
    return _Target()
