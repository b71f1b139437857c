"""One set of option values as a Numba target: types, engine, and a class of dispatchers.

Numba compiles a function once for each target and signature. It compiles the functions called, NumPy's
included, for the same target. So with a target for each set of values, each set has its own code.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import cpu, externals, types, typing, utils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.decorators import jit
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.target_extension import (
    CPU,
    dispatcher_registry,
    jit_registry,
    target_override,
    target_registry,
)
from numba.core.typing.templates import _OverloadFunctionTemplate

from optctx.context.context import OptionContext
from optctx.context.lookups import seen, values_outside
from optctx.engine.attach import attach, is_default
from optctx.errors import UnsupportedImageError
from optctx.numba.codegen import OptionsCodegen
from optctx.numba.dispatcher import OptionsDispatcher, stand_in
from optctx.numba.entries import Values
from optctx.reads.unread import judge


class OptionsTarget(TargetDescriptor):  # type: ignore[misc]
    """A target in Numba's sense. There is one for each set of values. It lasts as long as the process."""

    options = cpu.CPUTargetOptions  # Numba's own options, such as `fastmath`
    _numbers = itertools.count()

    def __init__(self, context: OptionContext) -> None:
        self.name = f"optctx-{next(self._numbers)}"
        super().__init__(self.name)
        self.context = context
        self.engine = context._layers.engine
        self._is_compiling = False  # under Numba's compiler lock
        self.first_values: Values | None = None  # those under which the first function was compiled
        self._specialised: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        hardware = type(f"Options{self.name[7:]}", (CPU,), {})
        self.dispatcher_class: type[OptionsDispatcher] = type(
            "OptionsDispatcher", (OptionsDispatcher,), {"targetdescr": self, "__module__": __name__}
        )
        target_registry[self.name] = hardware
        dispatcher_registry[hardware] = self.dispatcher_class
        jit_registry[hardware] = functools.partial(jit, _target=self.name)
        self._typing_context = OptionsTyping(self)
        self._target_context = OptionsContext(self)

    @classmethod
    def _rebuild(cls, **states: Any) -> OptionsDispatcher:
        """Unpickle a dispatcher, with the target of its context in this process."""
        context = states.pop("context")
        return target_of(context).dispatcher_class.restored(**states)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """A block in which Numba compiles for this target. Its end reports overrides that were not read."""
        with global_compiler_lock, target_override(self.name):
            if self._is_compiling:
                yield
                return
            self._is_compiling = True
            try:
                with self._outermost():
                    yield
            finally:
                self._is_compiling = False

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        self.first_values = self.first_values or self.values_now()
        codegen, context = self._target_context.codegen(), self._judged()
        before, values = codegen.finalized, codegen.values
        failed = True
        try:
            codegen.values = _to_enter(context)
            with codegen.compiling():
                yield
            failed = False
        finally:
            codegen.values = values
            if codegen.finalized > before:
                judge(context, failed)

    def _judged(self) -> OptionContext:
        """The context whose overrides are judged: that of this thread, if it is equal to the target's."""
        context = seen(self.engine, "compile with Numba") if self.context._unread != "ignore" else None
        return self.context if context is None or _key(context) != _key(self.context) else context

    def values_now(self) -> Values:
        """The values of the context, with all else that is in force at this moment."""
        return Values(self.engine, self.context)

    @property
    def typing_context(self) -> OptionsTyping:
        return self._typing_context

    @property
    def target_context(self) -> OptionsContext:
        return self._target_context

    def own(self, value: Any) -> Any:
        """The value that replaces `value` in functions of this target: a stand-in if it is plain Numba's."""
        make = stand_in.dispatch(type(value))
        if make is stand_in.registry[object]:
            return value
        with global_compiler_lock:
            found = self._specialised.get(value)
            if found is None:
                found = make(value, self)
                if found is not value:  # the entry would keep its own key alive
                    self._specialised[value] = found
        return found

    def own_type(self, kind: Any) -> Any:
        """As `own`, for a type."""
        return types.Dispatcher(self.own(kind.dispatcher)) if type(kind) is types.Dispatcher else kind


class OptionsTyping(typing.Context):  # type: ignore[misc]
    """Typing as in Numba, with implementations of overloaded functions for this target alone."""

    def __init__(self, target: OptionsTarget) -> None:
        self._target = target
        self._templates: dict[type, type] = {}
        super().__init__()

    def resolve_value_type(self, val: Any) -> Any:
        own = self._target.own(val)
        if isinstance(own, Dispatcher):
            self._check_recursion(own)
        try:
            return super().resolve_value_type(own)
        except ValueError:
            self._check_known(own)
            raise

    def _check_recursion(self, dispatcher: Any) -> None:
        """Raise TypingError for mutual recursion between targets, which Numba resolves in one engine only."""
        if dispatcher.targetdescr is not self._target and dispatcher.is_compiling:
            raise TypingError(
                f"{dispatcher.py_func.__qualname__} calls a function that calls it back, and the two have "
                "different LLVM options (optctx.numba); give them the same options"
            )

    def _check_known(self, value: Any) -> None:
        if cpu_target.typing_context._lookup_global(value) is not None:
            raise TypingError(
                f"{value!r} is of plain Numba's CPU target alone, and cannot be compiled under LLVM options "
                "(optctx.numba); pass its result in, or call it from a function of plain Numba"
            )

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        return super().resolve_function_type(self._target.own_type(func), args, kws)

    def _insert_global(self, gv: Any, gty: Any) -> None:
        if type(gty) is types.Function:  # Numba keeps its overloads in the classes of its templates
            gty = types.Function(tuple(map(self._own_template, gty.templates)))
        super()._insert_global(gv, gty)

    def _own_template(self, template: type) -> type:
        # `issubclass` of Numba's templates takes a millisecond, because they have an abstract base.
        if _OverloadFunctionTemplate not in template.__mro__:
            return template
        if template not in self._templates:
            own: dict[str, Any] = {"_impl_cache": {}, "_compiled_overloads": {}, "_inline_overloads": {}}
            made = type(template)(template.__name__, (template,), own)
            self._templates[template] = self._templates[made] = made
        return self._templates[template]


class OptionsContext(cpu.CPUContext):  # type: ignore[misc]
    """Code generation as in Numba, in an engine of its own."""

    def __init__(self, target: OptionsTarget) -> None:
        self._options_target = target
        super().__init__(target.typing_context, target.name)

    def __repr__(self) -> str:
        """Numba's own text, which is compiled into functions, for errors that no code can catch."""
        return f"<{cpu.CPUContext.__module__}.{cpu.CPUContext.__name__}>"

    @global_compiler_lock  # type: ignore[untyped-decorator]
    def init(self) -> None:
        self.is32bit = utils.MACHINE_BITS == 32
        self._internal_codegen = OptionsCodegen("numba.exec", _to_enter(self._options_target.context), self)
        externals.c_math_functions.install(self)

    def load_additional_registries(self) -> None:
        _initialise_plain()
        super().load_additional_registries()

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        fn = self._options_target.own_type(fn)
        if isinstance(fn, types.Dispatcher) and isinstance(fn.dispatcher, Dispatcher):
            self._know(fn.dispatcher, sig)
        return super().get_function(fn, sig, _firstcall)

    def _know(self, dispatcher: Any, sig: Any) -> None:
        """Add the implementation of a dispatcher's overload, which may be of another target."""
        if sig.args not in dispatcher.overloads:
            dispatcher.get_call_template(sig.args, {})
        if dispatcher.targetdescr is not self._options_target:
            found = dispatcher.overloads[sig.args]
            if found.entry_point not in self._defns:
                self.insert_user_function(found.entry_point, found.fndesc, [found.library])


@functools.cache
def _initialise_plain() -> None:
    """Make Numba's own runtime functions, which otherwise the first target that compiles would make."""
    values_outside(attach()).run(rtsys.initialize, cpu_target.target_context)


_targets: dict[tuple[OptionContext, str], OptionsTarget] = {}


def target_of(context: OptionContext) -> OptionsTarget:
    """The target for a set of values. Equal sets have the same one.

    Raises UnsupportedImageError and ProcessWideOptionError for a context that cannot be entered whenever
    Numba compiles.
    """
    _check(context)
    with global_compiler_lock:
        key = _key(context)
        if key not in _targets:
            _targets[key] = OptionsTarget(context)
        return _targets[key]


def _key(context: OptionContext) -> tuple[OptionContext, str]:
    return context, context._unread


def _to_enter(context: OptionContext) -> OptionContext:
    """A context of the same values that judges nothing when it is left. Its reads count for this one."""
    return context if context._unread == "ignore" else OptionContext(base=context)


def _check(context: OptionContext) -> None:
    engine = context._layers.engine
    if not is_default(engine):
        raise UnsupportedImageError(
            f"cannot compile Numba functions under {context!r}: the context is for the LLVM of "
            f"{engine.image.path}; make a context for llvmlite's LLVM"
        )
    if not engine.intercepts:
        raise UnsupportedImageError(
            f"cannot compile Numba functions under {context!r}: {engine.not_intercepted}; enter the "
            "context around the first call of a function of numba.njit instead"
        )
