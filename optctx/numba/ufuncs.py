"""Universal functions of plain Numba (`vectorize`, `guvectorize`) in functions that have LLVM options."""

from __future__ import annotations

import copy
from typing import Any

from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
from numba.np.ufunc.ufuncbuilder import UFuncDispatcher, UFuncTargetOptions

from optctx.numba.dispatcher import stand_in
from optctx.numba.target import OptionsTarget


class _Dispatcher(UFuncDispatcher):  # type: ignore[misc]
    """Compiles the signatures of one universal function under the values of one target."""

    def __init__(self, target: OptionsTarget, dispatcher: Any) -> None:
        self.target = target
        self.targetdescr = copy.copy(target)
        self.targetdescr.options = UFuncTargetOptions  # Numba's own, which are fewer for these loops
        super().__init__(dispatcher.py_func, {}, {"nopython": True, **dispatcher.targetoptions})

    def _compile_core(self, *args: Any) -> Any:
        with self.target.compiling():
            return super()._compile_core(*args)


class _Universal:
    """The common part of universal functions with options."""

    def __init__(self, target: OptionsTarget, *args: Any, **named: Any) -> None:
        self.target = target
        super().__init__(*args, **named)


class OptionsDUFunc(_Universal, DUFunc):  # type: ignore[misc]
    """A universal function whose loops are all compiled under the values of one target."""

    def _initialize(self, dispatcher: Any, identity: Any) -> None:
        super()._initialize(_Dispatcher(self.target, dispatcher), identity)

    def _compile_for_argtys(self, *args: Any, **named: Any) -> Any:
        with self.target.compiling():
            return super()._compile_for_argtys(*args, **named)


class OptionsGUFunc(_Universal, GUFunc):  # type: ignore[misc]
    """A generalized universal function, compiled under the values of one target."""

    def _initialize(self, dispatcher: Any) -> None:
        self._dispatcher = self.gufunc_builder.nb_func = _Dispatcher(self.target, dispatcher)
        super()._initialize(self._dispatcher)

    def add(self, fty: Any) -> None:
        with self.target.compiling():
            super().add(fty)

    def build_ufunc(self) -> OptionsGUFunc:
        with self.target.compiling():
            return super().build_ufunc()  # type: ignore[no-any-return]


@stand_in.register(_Universal)
def _same(function: _Universal, target: OptionsTarget) -> Any:
    return function


@stand_in.register(DUFunc)
def _own_ufunc(function: Any, target: OptionsTarget) -> Any:
    dispatcher = function._dispatcher
    identity = "reorderable" if function.identity is None and function.reorderable else function.identity
    made = OptionsDUFunc(target, dispatcher.py_func, identity, False, dict(dispatcher.targetoptions))
    if function._frozen:
        for signature in dispatcher.overloads:
            made.add(signature)
        made.disable_compile()
    return made


@stand_in.register(GUFunc)
def _own_gufunc(function: Any, target: OptionsTarget) -> Any:
    builder = function.gufunc_builder
    made = OptionsGUFunc(
        target,
        builder.py_func,
        builder.signature,
        identity=function._identity,
        targetoptions=builder.targetoptions,
        writable_args=builder.writable_args,
    )
    for signature in builder._sigs:
        made.add(signature)
    made.build_ufunc()
    made._frozen = function._frozen
    return made
