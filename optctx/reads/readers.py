"""Which options LLVM reads, and in which functions: what the native module's readers stand for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from optctx.engine.engine import Engine
from optctx.image.options import RegisteredOption


@cache
def readers_of(engine: Engine) -> list[tuple[int, list[RegisteredOption]]]:
    """List, by index, the number of each reader's function and the options that it sees, none an alias.

    Prepares the engine to mark reads. Made once for each; engines live as long as the process.
    """
    engine.prepare_recording()
    plan = engine.plan
    seen = {**plan.served, **{slot: [option] for slot, option in plan.owners.items()}}
    return [
        (reader.function, [engine.resolve(option) for option in seen.get(reader.slot, ())])
        for reader in plan.readers
    ]


def functions_reading(engine: Engine, readers: Iterable[int]) -> dict[str, list[str]]:
    """Map the name of an option to the functions, among those of the readers, that read it (mangled)."""
    known = readers_of(engine)
    found: dict[str, dict[str, None]] = {}
    for reader in readers:
        number, options = known[reader]
        function = engine.image.name_of(number)
        for option in options:
            found.setdefault(option.name, {})[function] = None
    return {name: list(functions) for name, functions in found.items()}
