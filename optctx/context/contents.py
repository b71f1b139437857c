"""What a context is made of: process-wide drift at the bottom, then inherited overrides, then its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Union

from optctx import _native
from optctx._native import Kind, Setting
from optctx.context.exclusive import changes_of
from optctx.context.override import Override, make_override
from optctx.context.text import Texts, texts_of
from optctx.engine.attach import Engine
from optctx.errors import OptionTypeError, OptionValueError, shown
from optctx.registry.values import read_value

if TYPE_CHECKING:
    from optctx.context.context import OptionContext

__all__ = ["Base", "Contents", "drift_of", "rebuild", "resolve_base"]

Base = Union[Literal["inherit", "defaults"], "OptionContext"]


@dataclass(frozen=True)
class Contents:
    """On top of what was registered: `drift` (what was different process-wide), `inherited`, `own`."""

    drift: Setting
    inherited: Mapping[str, Override]
    own: Mapping[str, Override]

    def native(
        self, engine: Engine, reads: _native.Reads | None = None, sets: _native.Sets = _native.Sets.contain
    ) -> _native.Context:
        """The context that threads can enter, which marks in `reads` what is read."""
        effective = {**self.inherited, **self.own}.values()
        settings = [override.setting for override in effective if override.setting is not None]
        changes = changes_of(engine, effective)
        return _native.Context.make(engine.space, self.drift, settings, changes, reads, sets)

    def exclusive(self) -> list[str]:
        """Options that are changed for the whole process while the context is entered."""
        effective = {**self.inherited, **self.own}.values()
        return sorted(override.name for override in effective if override.setting is None)

    def names(self, engine: Engine) -> set[str]:
        """Options that may be different from what was registered."""
        drifted = (option.record.name for option, _ in engine.drifted(self.drift))
        return {*self.inherited, *self.own, *drifted}

    def portable(self, engine: Engine) -> tuple[dict[str, Texts], dict[str, Texts]]:
        """(inherited, own) as text, for another process; raises OptionValueError for a value without."""
        inherited = self._drifted_texts(engine)
        inherited.update((override.name, override.texts) for override in self.inherited.values())
        return inherited, {override.name: override.texts for override in self.own.values()}

    def flat(self, engine: Engine) -> dict[str, Texts]:
        """Everything on top of what was registered, as one set of texts; raises as `portable` does."""
        effective = {**self.inherited, **self.own}.values()
        return {
            **self._drifted_texts(engine),
            **{override.name: override.texts for override in effective},
        }

    def _drifted_texts(self, engine: Engine) -> dict[str, Texts]:
        """Options that differ process-wide and that nothing here overrides."""
        found = {}
        for option, storage in engine.drifted(self.drift):
            name = option.record.name
            if name in self.inherited or name in self.own:
                continue
            value = read_value(option, storage.value)
            if option.record.type.kind == Kind.other or value is None:
                raise OptionValueError(
                    f"cannot pickle or stamp a context that inherits a process-wide value of {name!r}, "
                    "which has no text form"
                )
            # A choice that is an option itself is given by its own name.
            given = value if isinstance(value, str) and value in option.record.names else name
            found[given] = texts_of(option, given, value)
        return found


def resolve_base(engine: Engine, base: Base, current: OptionContext | None) -> Contents:
    """The contents that a new context starts from."""
    if base == "inherit":
        if current is not None:
            return current._contents
        return Contents(drift_of(engine), {}, {})
    if base == "defaults":
        return Contents(engine.space.no_drift(), {}, {})
    contents = getattr(base, "_contents", None)
    if isinstance(contents, Contents):
        return contents
    raise OptionTypeError(f'base is "inherit", "defaults" or an OptionContext, found {shown(base)}')


def drift_of(engine: Engine) -> Setting:
    """What is different process-wide, at this moment, from what was registered."""
    return engine.space.drift()


def rebuild(
    engine: Engine, inherited: Mapping[str, Texts], own: Mapping[str, Texts]
) -> tuple[Contents, list[Override]]:
    """The inverse of `Contents.portable`: a base, and the overrides on top of it.

    What was allowed when the context was made is allowed again.
    """
    below = [make_override(engine, name, texts, "exclusive") for name, texts in inherited.items()]
    base = Contents(
        engine.space.no_drift(), {override.option.record.name: override for override in below}, {}
    )
    return base, [make_override(engine, name, texts, "exclusive") for name, texts in own.items()]
