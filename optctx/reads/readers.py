"""Which options LLVM reads, and in which functions: what the native module's readers stand for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from optctx.engine.engine import Engine
from optctx.image.options import RegisteredOption


class ReaderIndex:
    """The readers of an image by their index. One for each engine: see `reader_index`.

    `options`: by index, those whose values the reader sees, none of them an alias.
    """

    def __init__(self, engine: Engine) -> None:
        engine.prepare_recording()
        self._engine = engine
        self._readers = list(engine.plan.readers)
        seen = {**engine.plan.served, **{slot: [option] for slot, option in engine.plan.owners.items()}}
        self.options: list[list[RegisteredOption]] = [
            [engine.resolve(option) for option in seen.get(reader.slot, ())] for reader in self._readers
        ]

    def functions(self, readers: Iterable[int]) -> dict[str, list[str]]:
        """Map the name of an option to the functions, among those of the readers, that read it (mangled)."""
        found: dict[str, dict[str, None]] = {}
        for reader in readers:
            function = self._engine.image.name_of(self._readers[reader].function)
            for option in self.options[reader]:
                found.setdefault(option.name, {})[function] = None
        return {name: list(functions) for name, functions in found.items()}


@cache
def reader_index(engine: Engine) -> ReaderIndex:
    """Return the readers of an engine's image, made once for each. Engines live as long as the process."""
    return ReaderIndex(engine)
