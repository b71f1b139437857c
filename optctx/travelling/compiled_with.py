"""What a module says of the options that it was compiled with: stamps, or else recorded command lines."""

from __future__ import annotations

from typing import NamedTuple

from optctx.engine.engine import Engine
from optctx.errors import LinkMismatchError, OptctxError
from optctx.travelling.recorded import OtherCompilerError, read_recorded
from optctx.travelling.stamps import Stamp, called, module_label, read_stamps, trusted_overrides
from optctx.trust import Trust
from optctx.values.overrides import Override, ProcessWideMode

__all__ = ["CompiledWith", "read_compiled_with", "stamped_overrides"]

_MOST_DIFFERENT = 64  # stamps to compare; different texts may stand for the same values


class CompiledWith(NamedTuple):
    """What a module says. `unclear`: why the command lines that it has tell nothing; "" if they do."""

    stamps: list[Stamp]  # also those that stand for recorded command lines
    recorded: bool = False
    unclear: str = ""


def read_compiled_with(engine: Engine, module: object) -> CompiledWith:
    """Read the stamps of a module. Only if it has none, its recorded command lines stand for them.

    A stamp is the later word: the step that optimises a module stamps it, after the compiler's front end.
    Raises as `read_stamps` and `read_recorded` do, but not for another compiler.
    """
    stamps = read_stamps(engine.image, module)
    if stamps:
        return CompiledWith(stamps)
    try:
        recorded = read_recorded(engine, module)
    except OtherCompilerError as error:
        return CompiledWith([], unclear=str(error))
    return CompiledWith(recorded or [], recorded=bool(recorded))


def stamped_overrides(
    engine: Engine, module: object, mode: ProcessWideMode, trust: Trust
) -> list[tuple[Stamp, list[Override]]]:
    """Return the different stamps or command lines of a module, each with its overrides.

    Raises as `read_compiled_with` does, OptctxError for a module that says nothing, and LinkMismatchError for
    one with more than 64 different stamps. Raises UntrustedOptionError, and as `make_override` does, with the
    name of the stamped module.
    """
    found = read_compiled_with(engine, module)
    whose = f"cannot take the options of {called(module_label(engine.image, module))}"
    if found.unclear:
        raise OptctxError(found.unclear)
    if not found.stamps:
        raise OptctxError(
            f"{whose}: it carries no stamp and no recorded command line; call optctx.stamp(module, context) "
            "in the step that compiles it, or compile it with clang -frecord-command-line"
        )
    different = {tuple(sorted(stamp.options.items())): stamp for stamp in reversed(found.stamps)}
    if len(different) > _MOST_DIFFERENT:
        raise LinkMismatchError(
            f"{whose}: it was linked of modules that were compiled with {len(different)} different sets of "
            "options; `optctx check-link` shows them"
        )
    return [
        (stamp, trusted_overrides(engine, stamp.options, called(stamp.producer), mode, trust))
        for stamp in reversed(different.values())
    ]
