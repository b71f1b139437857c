"""Dispatchers for one set of option values, and what stands there for values of plain Numba."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any, ClassVar

from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.target_extension import current_target
from numba.core.types import Generator

from optctx.context.context import OptionContext
from optctx.numba.cache import OptionsCache


class OptionsDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that Numba compiles under the values of one target, wherever it is first called.

    Each target has a subclass.
    """

    targetdescr: ClassVar[Any]
    _is_public = False

    @classmethod
    def like(cls, dispatcher: Any) -> OptionsDispatcher:
        """Make a dispatcher of this target for the same function, with the same Numba options.

        If `dispatcher` does not compile for more signatures than it has, this one compiles for those alone.
        """
        pipeline = dispatcher._compiler.pipeline_class
        made = cls(dispatcher.py_func, dispatcher.locals, dispatcher.targetoptions, pipeline_class=pipeline)
        if not isinstance(dispatcher._cache, NullCache):
            made.enable_caching()
        if not dispatcher._can_compile:
            for overload in dispatcher.overloads.values():
                made.compile(overload.signature)
            made.disable_compile()
        return made

    @property
    def llvm_options(self) -> OptionContext:
        """The values under which this function is compiled."""
        return self.targetdescr.context  # type: ignore[no-any-return]

    def enable_caching(self) -> None:
        self._cache = OptionsCache(self.py_func, self.targetdescr)

    def compile(self, sig: Any) -> Any:
        with self.targetdescr.compiling():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Raise TypingError for a generator in a function of another target.

        Numba keeps the code of a generator by its function and types alone, and makes its name of these.
        """
        found = super().get_call_template(args, kws)
        kinds = [signature.return_type for signature in self.nopython_signatures]
        if current_target() != self.targetdescr.name and any(isinstance(kind, Generator) for kind in kinds):
            raise TypingError(
                f"{self.py_func.__qualname__} gives a generator and has LLVM options of its own "
                "(optctx.numba), which its caller does not have; give both the same options"
            )
        return found

    def publish(self) -> OptionsDispatcher:
        """Let functions that plain Numba compiles call this one."""
        self._is_public = True
        for overload in self.overloads.values():
            _insert(overload)
        return self

    def add_overload(self, cres: Any) -> None:
        super().add_overload(cres)
        if self._is_public:
            _insert(cres)

    def _make_finalizer(self) -> Any:
        finalize = super()._make_finalizer()
        overloads = self.overloads

        def finalize_both() -> None:  # must not refer to the dispatcher
            finalize()
            for overload in overloads.values():
                with suppress(KeyError):
                    cpu_target.target_context.remove_user_function(overload.entry_point)

        return finalize_both

    def _reduce_class(self) -> type:
        return type(self.targetdescr)  # the class of this dispatcher exists in this process only

    def _reduce_states(self) -> dict[str, Any]:
        caching = not isinstance(self._cache, NullCache)
        return {**super()._reduce_states(), "context": self.llvm_options, "caching": caching}

    @classmethod
    def restored(cls, caching: bool, sigs: list[Any], can_compile: bool, **states: Any) -> OptionsDispatcher:
        """Invert `_reduce_states`, for this target."""
        known = cls._memo.get(states["uuid"])
        if known is not None:
            return known  # type: ignore[no-any-return]
        made: OptionsDispatcher = super()._rebuild(sigs=[], can_compile=True, **states)
        if caching:
            made.enable_caching()
        for signature in sigs:
            made.compile(signature)
        made._can_compile = can_compile
        return made.publish()


@functools.singledispatch
def stand_in(value: Any, target: Any) -> Any:
    """Return what stands for a value in functions of a target; it may be the value itself."""
    return value


@stand_in.register(Dispatcher)
def _own_dispatcher(dispatcher: Any, target: Any) -> Any:
    if dispatcher.targetdescr is not cpu_target:  # it has its own options, or another target
        return dispatcher
    return target.dispatcher_class.like(dispatcher)


def _insert(overload: Any) -> None:
    if not overload.objectmode:
        cpu_target.target_context.insert_user_function(
            overload.entry_point, overload.fndesc, [overload.library]
        )
