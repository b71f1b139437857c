"""The layers of a context: process-wide drift at the bottom, then inherited overrides, then its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from optctx import _native
from optctx._native import Kind, Setting
from optctx.engine.attach import Engine
from optctx.errors import OptionValueError
from optctx.values.overrides import Override, changes_of, make_override
from optctx.values.read_values import read_value
from optctx.values.texts import Texts, texts_of

__all__ = ["Contents", "drift_of", "rebuild"]


class Contents(NamedTuple):
    """The layers above the registered values: `drift` at the bottom, then `inherited`, then `own`."""

    drift: Setting
    inherited: Mapping[str, Override]
    own: Mapping[str, Override]

    def native(
        self, engine: Engine, reads: _native.Reads | None = None, sets: _native.Sets = _native.Sets.contain
    ) -> _native.Context:
        """Make the native context, which threads enter. Reads of its values are marked in `reads`."""
        effective = {**self.inherited, **self.own}.values()
        settings = [override.setting for override in effective if override.setting is not None]
        changes = changes_of(engine, effective)
        return _native.Context.make(engine.space, self.drift, settings, changes, reads, sets)

    def exclusive(self) -> list[str]:
        """The names of the options that entering the context changes for the whole process."""
        effective = {**self.inherited, **self.own}.values()
        return sorted(override.name for override in effective if override.setting is None)

    def names(self, engine: Engine) -> set[str]:
        """The names of the options that may differ from their registered state."""
        drifted = (option.record.name for option, _ in engine.drifted(self.drift))
        return {*self.inherited, *self.own, *drifted}

    def portable(self, engine: Engine) -> tuple[dict[str, Texts], dict[str, Texts]]:
        """(inherited, own) as text, for another process. Raises OptionValueError for a value without text."""
        inherited = self._drifted_texts(engine)
        inherited.update((override.name, override.texts) for override in self.inherited.values())
        return inherited, {override.name: override.texts for override in self.own.values()}

    def flat(self, engine: Engine) -> dict[str, Texts]:
        """All layers merged into one set of texts. Raises as `portable` does."""
        effective = {**self.inherited, **self.own}.values()
        return {
            **self._drifted_texts(engine),
            **{override.name: override.texts for override in effective},
        }

    def _drifted_texts(self, engine: Engine) -> dict[str, Texts]:
        """The texts of drifted options that no override replaces."""
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
            # A literal choice is a name of its option, such as -regbankselect-fast.
            given = value if isinstance(value, str) and value in option.record.names else name
            found[given] = texts_of(option, given, value)
        return found


def drift_of(engine: Engine) -> Setting:
    """The difference between the process-wide state, at this moment, and the registered one."""
    return engine.space.drift()


def rebuild(
    engine: Engine, inherited: Mapping[str, Texts], own: Mapping[str, Texts]
) -> tuple[Contents, list[Override]]:
    """Invert `Contents.portable`: returns a base, and the overrides on top of it.

    Options that cannot be scoped are accepted: the original context was allowed to set them.
    """
    below = [make_override(engine, name, texts, "exclusive") for name, texts in inherited.items()]
    base = Contents(
        engine.space.no_drift(), {override.option.record.name: override for override in below}, {}
    )
    return base, [make_override(engine, name, texts, "exclusive") for name, texts in own.items()]
