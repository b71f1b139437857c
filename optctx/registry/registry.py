"""The mapping from names to options, and the errors for names that are not registered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from optctx.engine.attach import Engine, attach
from optctx.engine.plan import PlannedOption
from optctx.errors import UnknownOptionError, shown
from optctx.registry.foreign import advice_for
from optctx.registry.option import Option
from optctx.wording import did_you_mean, nearest

__all__ = ["Registry", "find", "registry"]


class Registry(Mapping[str, Option]):
    """Every option that LLVM has registered in this process, by name without the leading hyphen."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getitem__(self, name: str) -> Option:
        return Option(self._engine, find(self._engine, name), name)

    def __contains__(self, name: object) -> bool:
        return name in self._engine.options

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._engine.options))

    def __len__(self) -> int:
        return len(self._engine.options)

    def __repr__(self) -> str:
        return f"<Registry of {len(self)} options, {self._engine.image.path}>"


def registry() -> Registry:
    """List every option of the LLVM in this process (N0). Attaches at first use.

    Raises:
        UnsupportedImageError: The process has no LLVM, or its layout does not check out.
    """
    return Registry(attach())


def find(engine: Engine, name: str) -> PlannedOption:
    """The option called `name`. Raises UnknownOptionError as `unknown` words it."""
    option = engine.options.get(name) if isinstance(name, str) else None
    if option is None:
        raise unknown(engine, name)
    return option


def unknown(engine: Engine, name: object) -> UnknownOptionError:
    """The error for a name that is not registered. It says where the name belongs, or the nearest names."""
    if not isinstance(name, str):
        return UnknownOptionError(
            f"an option name is a string, found {shown(name)} of type {type(name).__name__}", shown(name)
        )
    if advice := advice_for(engine.image, name):
        return UnknownOptionError(f"no LLVM option is called {shown(name)}: {advice}", name)
    bare = name.lstrip("-").replace("_", "-")
    first = re.split(r"[=\s]", bare, maxsplit=1)[0]  # in case the text is a name with a value
    near = next(([each] for each in (bare, first) if each in engine.options), nearest(bare, engine.options))
    hint = did_you_mean(near) or "`optctx list` shows every name"
    if first != bare:
        hint += " A name has no spaces and no '='; the value stands apart."
    library = engine.image.path.rsplit("/", 1)[-1]
    return UnknownOptionError(
        f"no LLVM option is called {shown(name)} among the {len(engine.options)} of {library}; {hint}",
        name,
        tuple(near),
    )
