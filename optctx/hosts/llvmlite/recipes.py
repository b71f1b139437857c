"""How llvmlite's pass managers and pass builders were made, so that they can be made again.

LLVM reads options while it makes a pass builder, builds a pipeline or constructs a pass, and these objects
keep what was read. They are made in a few calls of llvmlite's, with plain arguments. Each call is kept with
the object that it made or changed: its recipe. Under other values the calls are repeated. Which calls these
are is from llvmlite's sources (ffi/newpassmanagers.cpp).

A recipe is an attribute of the pointer of ctypes' that llvmlite's object holds, and ends with it. Everything
here runs with llvmlite's lock held.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from enum import Enum
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from optctx._native import Subject, values_here
from optctx.engine.attach import made
from optctx.hosts.llvmlite.ffi_calls import function
from optctx.hosts.llvmlite.tuning_options import Settings, apply_settings, settings_of

# What tells apart the values that a thread reads; None: those of the process.
Values = bytes | None

MIXED: Final = b"made under several sets of values"


class CannotRepeatError(Exception):
    """Why an object cannot be made again."""


class _Call(NamedTuple):
    name: str
    arguments: tuple[Any, ...]  # as given, or what `_keep` returns; without the object that is changed


class _Input(NamedTuple):
    """An object with a recipe of its own, as it was after the first `length` calls of that."""

    recipe: _Recipe
    length: int


class _Tuning(NamedTuple):
    settings: Settings


class _Recipe:
    """How one object was made.

    `values`: those under which all of it was made, so that the object is right under them. `gap`: what is not
    known of its making; such an object cannot be made again.
    """

    def __init__(self, values: Values) -> None:
        self.calls: list[_Call] = []
        self.values = values
        self.gap = ""


# Attributes of pointers.
_RECIPE = "_optctx_recipe"
ENDED = "_optctx_ended"  # of a target machine that is gone without being closed: MCJIT owned it


def make(name: str, call: Any, arguments: tuple[Any, ...]) -> Any:
    """Call a function that makes an object, and keep the recipe.

    If the object would keep what tuning options have read under other values, it gets other tuning options.
    """
    values = _values()
    recipe = _Recipe(values)
    kinds = MAKES[name].arguments[: len(arguments)]
    kept = tuple(_keep(each, kind, recipe) for each, kind in zip_longest(arguments, kinds))
    with ExitStack() as stack:
        result = call(*_with_own_tuning(kept, arguments, values, stack))
    recipe.calls.append(_Call(name, kept))
    if result:
        setattr(result, _RECIPE, recipe)
    return result


def change(name: str, call: Any, arguments: tuple[Any, ...]) -> Any:
    """Call a function that changes its first argument, and add the call to the recipe of that."""
    recipe = _recipe_of(arguments[0])
    if recipe is None:
        return call(*arguments)
    if recipe.values != _values():
        recipe.values = MIXED
    gap, recipe.gap = recipe.gap, recipe.gap or f"an exception interrupted a call of {name}"
    result = call(*arguments)
    recipe.calls.append(_Call(name, arguments[1:]))
    recipe.gap = gap
    return result


def _values() -> Values:
    """Return what tells apart the values under which this thread makes objects."""
    engine = made()
    if engine is None:  # no context was made yet
        return None
    values, anew, _ = values_here(engine.index)
    return MIXED if anew else values


def _recipe_of(argument: Any) -> _Recipe | None:
    """Return the recipe of an object; None if it was made unseen."""
    found: _Recipe | None = getattr(getattr(argument, "_ptr", argument), _RECIPE, None)
    return found


def _keep(argument: Any, kind: Argument | None, recipe: _Recipe) -> Any:
    """Return what stands for an argument in a recipe. A target machine is not kept alive."""
    if kind is Argument.TUNING:
        return _Tuning(settings_of(argument))
    if kind is Argument.MACHINE and hasattr(argument, "closed"):
        return weakref.ref(argument)
    if kind is Argument.MACHINE and argument is not None:
        recipe.gap = "its target machine is no object of llvmlite's"
    if kind is not Argument.MADE:
        return argument
    found = _recipe_of(argument)
    if (found.values if found else None) != recipe.values:
        recipe.values = MIXED
    if found is None:
        recipe.gap = recipe.gap or "it was made of an object that is older than the first use of optctx"
        return argument
    return _Input(found, len(found.calls))


def _with_own_tuning(
    kept: tuple[Any, ...], arguments: tuple[Any, ...], values: Values, stack: ExitStack
) -> Iterator[Any]:
    for each, argument in zip(kept, arguments, strict=True):
        recipe = _recipe_of(argument)
        is_right = not isinstance(each, _Tuning) or (recipe.values if recipe else None) == values
        yield argument if is_right else _new_tuning(each, stack)


def _new_tuning(kept: _Tuning, stack: ExitStack) -> Any:
    tuning = _new("LLVMPY_CreatePipelineTuningOptions", (), stack)
    apply_settings(tuning, kept.settings)
    return tuning


def _new(name: str, arguments: tuple[Any, ...], stack: ExitStack) -> Any:
    result = function(name)(*arguments)
    stack.callback(function(MAKES[name].disposer), result)
    return result


class Repeating:
    """Makes objects again under the values that this thread reads now; `stack` ends them.

    `anew`: also those that were made under the same values.
    """

    def __init__(self, values: Values, *, anew: bool, stack: ExitStack) -> None:
        self._values = values
        self._anew = anew
        self._stack = stack
        self._repeated: dict[_Input, Any] = {}

    def right(self, argument: Any) -> Any:
        """Return the object if it is right under the values, or another one in its place.

        Raises CannotRepeatError if there is none.
        """
        recipe = _recipe_of(argument)
        if recipe is None:
            if self._values is None:  # made outside every scope, before optctx was there to see it
                return argument
            raise CannotRepeatError("it is older than the first use of optctx")
        if recipe.values == self._values and not self._anew:
            if self._values is not None:
                recipe.values = MIXED  # used up: LLVM 22 moves passes out of a manager that it runs
            return argument
        return self._repeat(_Input(recipe, len(recipe.calls)))

    def _repeat(self, wanted: _Input) -> Any:
        if wanted not in self._repeated:
            if wanted.recipe.gap:
                raise CannotRepeatError(wanted.recipe.gap)
            first, *others = wanted.recipe.calls[: wanted.length]
            result = _new(first.name, tuple(map(self._argument, first.arguments)), self._stack)
            for name, arguments in others:
                function(name)(result, *map(self._argument, arguments))
            self._repeated[wanted] = result
        return self._repeated[wanted]

    def _argument(self, kept: Any) -> Any:
        if isinstance(kept, _Input):
            return self._repeat(kept)
        if isinstance(kept, _Tuning):
            return _new_tuning(kept, self._stack)
        if isinstance(kept, weakref.ref):
            machine = kept()
            if machine is None or machine.closed or hasattr(machine._ptr, ENDED):
                raise CannotRepeatError("the target machine that it was made with is closed")
            return machine
        if getattr(kept, "closed", False):
            raise CannotRepeatError(f"a {type(kept).__name__} that it was made with is closed")
        return kept


class Argument(Enum):
    """What an argument of such a function is, if not a number, a text or a module."""

    MADE = "another object that was made by such calls"
    TUNING = "a PipelineTuningOptions"
    MACHINE = "a target machine, or null"


class Made(NamedTuple):
    """A function that makes an object: what ends the object, and the first arguments."""

    disposer: str
    arguments: tuple[Argument, ...] = ()


_END_MODULE_MANAGER = "LLVMPY_DisposeNewModulePassManger"  # the library's own spelling
_END_FUNCTION_MANAGER = "LLVMPY_DisposeNewFunctionPassManger"
_BUILT = (Argument.MADE,)

MAKES: Final = {
    "LLVMPY_CreatePipelineTuningOptions": Made("LLVMPY_DisposePipelineTuningOptions"),
    "LLVMPY_CreatePassBuilder": Made("LLVMPY_DisposePassBuilder", (Argument.MACHINE, Argument.TUNING)),
    "LLVMPY_CreateNewModulePassManager": Made(_END_MODULE_MANAGER),
    "LLVMPY_CreateNewFunctionPassManager": Made(_END_FUNCTION_MANAGER),
    "LLVMPY_buildPerModuleDefaultPipeline": Made(_END_MODULE_MANAGER, _BUILT),
    "LLVMPY_buildFunctionSimplificationPipeline": Made(_END_FUNCTION_MANAGER, _BUILT),
}

# What adds a pass, or sets what passes are made of.
CHANGES: Final = re.compile(
    r"LLVMPY_((module|function)_Add\w+|Add\w+Pass_(module|function)|EnableTimePasses)"
)
# What runs a pass manager on a subject: (manager, subject, pass builder).
RUNS_MANAGER: Final = {
    "LLVMPY_RunNewModulePassManager": Subject.module,
    "LLVMPY_RunNewFunctionPassManager": Subject.function,
}
