"""Give each run of llvmlite's pass managers the values that are in force where it runs.

A pass manager keeps the options that LLVM read while it was made. If a run has other values, LLVM gets a pass
manager in its place that is made in the same way under those values (`recipes`), and a pass builder as well.
The values are those of the context that is bound to the module's LLVMContext, or else those of the thread.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from optctx import _native
from optctx._native import Subject
from optctx.engine.attach import made
from optctx.engine.engine import Engine
from optctx.errors import ContextMismatchError
from optctx.hosts.llvmlite import recipes
from optctx.hosts.llvmlite.ffi_calls import address_of, function_names, watch
from optctx.hosts.llvmlite.recipes import CHANGES, MAKES, RUNS_MANAGER
from optctx.tasks.problems import raise_problems
from optctx.travelling.bindings import seen_by
from optctx.values.layers import Layers
from optctx.wording import first_few

if TYPE_CHECKING:
    from optctx.travelling.bindings import Owner

_MACHINE = "_optctx_machine"  # attribute of a pointer to MCJIT's engine: the pointer to its target machine


def _make_engine(call: Any, arguments: tuple[Any, ...]) -> Any:
    """Make an MCJIT engine, which owns its target machine from now on."""
    engine = call(*arguments)
    if engine:
        setattr(engine, _MACHINE, getattr(arguments[1], "_ptr", arguments[1]))
    return engine


def _end_engine(call: Any, arguments: tuple[Any, ...]) -> Any:
    machine = getattr(getattr(arguments[0], "_ptr", None), _MACHINE, None)
    if machine is not None:
        setattr(machine, recipes.ENDED, True)
    return call(*arguments)


def _run(kind: Subject, call: Any, arguments: tuple[Any, ...]) -> Any:
    engine = made()
    if engine is None or not engine.attached or not _is_subject(call, arguments):
        return call(*arguments)
    if not engine.intercepts:
        return _run_here(engine, kind, call, arguments)
    subject = address_of(arguments[1])
    result = _native.run_early(engine.index, subject, kind, _run_here, engine, kind, call, arguments)
    if result is None:  # refused
        raise_problems("llvmlite")
    return result


def _is_subject(call: Any, arguments: tuple[Any, ...]) -> bool:
    """Tell whether argument 1 can be looked into. If not, ctypes refuses the call."""
    pointer = getattr(arguments[1], "_ptr", arguments[1]) if len(arguments) > 1 else None
    return isinstance(pointer, call.argtypes[1]) and bool(pointer)


def _run_here(engine: Engine, kind: Subject, call: Any, arguments: tuple[Any, ...]) -> Any:
    """Run under the values that this thread reads now."""
    values, anew, owner = _native.values_here(engine.index)
    with ExitStack() as stack:
        repeating = recipes.Repeating(values, anew=anew, stack=stack)
        ready = list(arguments)
        for at in (0, 2):
            try:
                ready[at] = repeating.right(arguments[at])
            except recipes.CannotRepeatError as reason:
                what = "pass builder" if at else f"{kind.name} pass manager"
                raise _mismatch(engine, what, str(reason), owner) from None
        return call(*ready)


def _mismatch(engine: Engine, what: str, reason: str, owner: Owner | None) -> ContextMismatchError:
    layers = seen_by(engine, owner)
    names = layers.differing(Layers.outside(engine))
    shown = f"{owner or layers!r} ({first_few(names)})"
    where = f"inside {shown}" if names else "outside any scope"
    return ContextMismatchError(
        f"cannot run a {what} {where}: LLVM may have read other values while it was made, and it cannot be "
        f"made again for these because {reason}; make it where it runs, or after optctx.attach()"
    )


def arm() -> None:
    """Watch every function that this llvmlite has, from now on. Again does nothing."""
    names = set(function_names())
    for name in names:
        if CHANGES.fullmatch(name):
            watch(name, partial(recipes.change, name))
    for name in names & MAKES.keys():
        watch(name, partial(recipes.make, name))
    for name in names & RUNS_MANAGER.keys():
        watch(name, partial(_run, RUNS_MANAGER[name]))
    watch("LLVMPY_CreateMCJITCompiler", _make_engine)
    watch("LLVMPY_DisposeExecutionEngine", _end_engine)
