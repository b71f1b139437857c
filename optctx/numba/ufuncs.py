"""NumPy's universal functions (`numba.vectorize`, `numba.guvectorize`) under LLVM options."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

from numba.core.caching import NullCache
from numba.core.registry import cpu_target
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
from numba.np.ufunc.ufuncbuilder import UFuncDispatcher, UFuncTargetOptions

from optctx.context import OptionContext
from optctx.numba.cache import OptionsCache
from optctx.numba.decorators import Options, check_arguments, refuse, target_for
from optctx.numba.stand_ins import stand_in
from optctx.numba.target import OptionsTarget


class _Dispatcher(UFuncDispatcher):  # type: ignore[misc]
    """Compiles the signatures of one universal function under the values of one target."""

    def __init__(self, target: OptionsTarget, py_func: Any, targetoptions: dict[str, Any]) -> None:
        self.target = target
        self.targetdescr = copy.copy(target)
        self.targetdescr.options = UFuncTargetOptions  # Numba's own, which are fewer for these loops
        super().__init__(py_func, {}, targetoptions)

    def enable_caching(self) -> None:
        self.cache = OptionsCache(self.py_func, self.target)

    def _compile_core(self, *args: Any) -> Any:
        with self.target.compiling():
            return super()._compile_core(*args)


class _Universal:
    """The common part of universal functions with options."""

    _install_type: Callable[[Any], None]
    _install_cg: Callable[[Any], None]

    def __init__(self, target: OptionsTarget, *args: Any, **named: Any) -> None:
        self.target = target
        self._known_to = [target]
        super().__init__(*args, **named)
        self.install(cpu_target)

    @property
    def llvm_options(self) -> OptionContext:
        """The values under which this function is compiled."""
        return self.target.context

    def install(self, target: Any) -> Any:
        """Let functions of another target call it, even of plain Numba's. Returns itself."""
        if target not in self._known_to:
            self._install_type(target.typing_context)
            self._install_cg(target.target_context)
            self._known_to.append(target)
        return self

    def _own(self, dispatcher: Any) -> _Dispatcher:
        """Make a dispatcher for the target, in place of the one that Numba has made."""
        options = {"nopython": True, **dispatcher.targetoptions}
        made = _Dispatcher(self.target, dispatcher.py_func, options)
        if not isinstance(dispatcher.cache, NullCache):
            made.enable_caching()
        return made

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle {self!r}: a universal function with LLVM options is of one process")


class OptionsDUFunc(_Universal, DUFunc):  # type: ignore[misc]
    """A universal function whose loops are all compiled under the values of one target."""

    def _initialize(self, dispatcher: Any, identity: Any) -> None:
        super()._initialize(self._own(dispatcher), identity)

    def _compile_for_argtys(self, *args: Any, **named: Any) -> Any:
        with self.target.compiling():
            return super()._compile_for_argtys(*args, **named)


class OptionsGUFunc(_Universal, GUFunc):  # type: ignore[misc]
    """A generalized universal function, compiled under the values of one target."""

    def _initialize(self, dispatcher: Any) -> None:
        self._dispatcher = self.gufunc_builder.nb_func = self._own(dispatcher)
        super()._initialize(self._dispatcher)

    def add(self, fty: Any) -> None:
        with self.target.compiling():
            super().add(fty)

    def build_ufunc(self) -> OptionsGUFunc:
        with self.target.compiling():
            return super().build_ufunc()  # type: ignore[no-any-return]


def vectorize(ftylist_or_function: Any = (), *, options: Options = None, **named: Any) -> Any:
    """Decorate a function as `numba.vectorize` does, and compile it, with all it calls, under LLVM options.

    Args:
        ftylist_or_function, named: As for `numba.vectorize`, with the target "cpu" alone.
        options: Option name -> value, or an OptionContext. None: the values that are in force where the
            decorator runs.

    Raises as `njit` does.
    """
    check_arguments("vectorize", (ftylist_or_function,), named)
    named.pop("target", None)
    target = target_for("vectorize", options)
    identity, cache = named.pop("identity", None), named.pop("cache", False)
    make = functools.partial(OptionsDUFunc, target, identity=identity, cache=cache, targetoptions=named)
    if inspect.isfunction(ftylist_or_function):
        return make(ftylist_or_function)
    return functools.partial(_complete, make, _signatures(ftylist_or_function))


def guvectorize(*args: Any, options: Options = None, **named: Any) -> Any:
    """Decorate a function as `numba.guvectorize` does, and compile it, with all it calls, under LLVM options.

    Args:
        args, named: As for `numba.guvectorize`, with the target "cpu" alone and without `cache`.
        options: Option name -> value, or an OptionContext. None: the values that are in force where the
            decorator runs.

    Raises as `njit` does.
    """
    check_arguments("guvectorize", args, named)
    if named.pop("cache", False):
        refuse(
            "guvectorize", "Numba's cache of its loops knows nothing of LLVM's options; leave out cache=True"
        )
    if len(args) not in (1, 2):
        refuse("guvectorize", f"expected signatures and a layout, or a layout, found {len(args)} arguments")
    named.pop("target", None)
    target = target_for("guvectorize", options)
    names = ("identity", "is_dynamic", "writable_args")
    own = {"is_dynamic": True, **{name: named.pop(name) for name in names if name in named}}
    make = functools.partial(OptionsGUFunc, target, signature=args[-1], targetoptions=named, **own)
    return functools.partial(_complete, make, _signatures(args[0]) if len(args) == 2 else [])


def _signatures(given: Any) -> list[Any]:
    return [given] if isinstance(given, str) else list(given)


def _complete(make: Callable[[Any], Any], signatures: list[Any], function: Any) -> Any:
    """Make the universal function. If there are signatures, it is compiled for these and for no others."""
    made = make(function)
    for signature in signatures:
        made.add(signature)
    if signatures:
        made.disable_compile()
    return made.build_ufunc()


@stand_in.register(_Universal)
def _same(function: _Universal, target: OptionsTarget) -> Any:
    return function.install(target)


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
