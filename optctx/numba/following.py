"""Dispatchers without values of their own, which compile for the context that the calling thread is in."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal

from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.target_extension import CPU, dispatcher_registry, target_registry

from optctx.context import OptionContext, current
from optctx.context.lookups import seen
from optctx.engine.attach import attach
from optctx.errors import NumbaOptionsWarning, level_outside
from optctx.numba.dispatcher import OptionsDispatcher
from optctx.numba.stand_ins import stand_in
from optctx.numba.target import OptionsTarget, target_of
from optctx.travelling.attaching import compiles_outside

FOLLOWING = "optctx-following"  # the name of its target
Mode = Literal["each", "first"]


class FollowingDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled for each context that it is called in, or for the first one alone.

    Numba's ways to inspect a dispatcher (`overloads`, `inspect_asm()`, `signatures`) report on the context
    that the calling thread is in.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        self.mode: Mode = "first"
        self._by_target: dict[OptionsTarget, OptionsDispatcher] = {}
        # By id, because comparing contexts takes long. An entry disappears with its context.
        self._by_context: dict[int, tuple[weakref.ref[OptionContext], OptionsDispatcher]] = {}
        self._outside: OptionsDispatcher | None = None
        self._first: OptionsDispatcher | None = None
        self._only: list[Any] | None = None  # the signatures that it compiles for; None for any
        super().__init__(*args, **named)
        self._doing = f"call {self.py_func.__qualname__}"

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._to_run()(*args, **named)

    def under(self, context: OptionContext) -> OptionsDispatcher:
        """The dispatcher of this function for one context."""
        return self.in_target(target_of(context))

    def in_target(self, target: OptionsTarget) -> OptionsDispatcher:
        with global_compiler_lock:
            found = self._by_target.get(target)
            if found is None:
                found = target.dispatcher_class.like(self, self._only).publish()
                self._by_target[target] = found
            return found

    def _here(self) -> OptionsDispatcher:
        """The dispatcher for the context that this thread is in."""
        context = seen(attach(), self._doing)
        if self.mode == "each":
            return self._of(context)
        if self._first is None:
            with global_compiler_lock:  # of several threads one is the first
                self._first = self._first or self._of(context)
        return self._first

    def _to_run(self) -> OptionsDispatcher:
        """As `_here`, with a warning if the function was compiled for another context."""
        found = self._here()
        if self.mode == "each":
            return found
        context = seen(attach(), self._doing)
        if self._of_first(context) is not found:
            warnings.warn(
                f"{self.py_func.__qualname__} was compiled under {found.llvm_options!r}, and now is called "
                f"{'outside any scope' if context is None else f'under {context!r}'}: it runs as compiled; "
                'with options="context" optctx.numba compiles it for each',
                NumbaOptionsWarning,
                stacklevel=level_outside(),
            )
        return found

    def follow(self, mode: Mode) -> FollowingDispatcher:
        """Set the contexts that it is compiled for: each one in which it is called, or only the first."""
        self.mode, self._first = mode, None
        self._by_context.clear()
        self._outside = None
        return self

    def _of(self, context: OptionContext | None) -> OptionsDispatcher:
        if context is None and self._outside is None and target_of(current()) not in self._by_target:
            compiles_outside(attach())  # LLVM will work in a scope of the target's
        found: OptionsDispatcher = self._found(context, lambda each: self.in_target(target_of(each)))
        return found

    def _of_first(self, context: OptionContext | None) -> OptionsDispatcher | None:
        """The first dispatcher if the context has the same values."""
        first = self._first
        assert first is not None
        same: OptionsDispatcher | None
        same = self._found(context, lambda each: first if each == first.llvm_options else None)
        return same

    def _found(self, context: OptionContext | None, find: Callable[[OptionContext], Any]) -> Any:
        """Call `find` once for each context, and once outside all contexts. Keeps the results."""
        if context is None:
            if self._outside is None:
                self._outside = find(current())
            return self._outside
        known = self._by_context.get(id(context))
        if known is not None and known[0]() is context:
            return known[1]
        found = find(context)
        key, by_context = id(context), self._by_context
        by_context[key] = (weakref.ref(context, lambda _: by_context.pop(key, None)), found)
        return found

    # The parts of a dispatcher that Numba uses.

    @property
    def overloads(self) -> Mapping[Any, Any]:
        return self._here().overloads  # type: ignore[no-any-return]

    @overloads.setter
    def overloads(self, none_yet: Mapping[Any, Any]) -> None:
        pass

    def _make_finalizer(self) -> Callable[[], None]:
        return lambda: None

    def compile(self, sig: Any) -> Any:
        return self._to_run().compile(sig)

    def disable_compile(self, val: bool = True) -> None:
        made = list(self._by_target.values())
        compiled = [overload.signature for each in made for overload in each.overloads.values()]
        assert compiled or not val  # as in Numba: else no call could succeed
        self._only = list(dict.fromkeys(compiled)) if val else None
        for dispatcher in made:
            if self._only is None:
                dispatcher.disable_compile(False)
            else:
                dispatcher.compile_only(self._only)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._here().get_call_template(args, kws)

    def get_compile_result(self, sig: Any) -> Any:
        return self._here().get_compile_result(sig)

    @property
    def is_compiling(self) -> Any:
        return self._here().is_compiling

    @property
    def stats(self) -> Any:
        return self._here().stats

    def recompile(self) -> None:
        self._here().recompile()

    def _reduce_states(self) -> dict[str, Any]:
        states: dict[str, Any] = super()._reduce_states()
        caching = not isinstance(self._cache, NullCache)
        return {**states, "sigs": [], "mode": self.mode, "caching": caching, "only": self._only}

    @classmethod
    def _rebuild(cls, **states: Any) -> FollowingDispatcher:
        known = cls._memo.get(states["uuid"])
        if known is not None:
            return known  # type: ignore[no-any-return]
        mode, caching, only = (states.pop(name) for name in ("mode", "caching", "only"))
        made: FollowingDispatcher = super()._rebuild(**states)
        made.mode, made._only = mode, only
        if caching:
            made.enable_caching()
        return made


@stand_in.register(FollowingDispatcher)
def _own_following(dispatcher: FollowingDispatcher, target: OptionsTarget) -> OptionsDispatcher:
    return dispatcher.in_target(target)


class _Following(CPU):  # type: ignore[misc]
    """The key of the target in Numba's tables."""


target_registry[FOLLOWING] = _Following
dispatcher_registry[_Following] = FollowingDispatcher
