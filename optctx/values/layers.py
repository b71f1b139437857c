"""The values of all options, as layers: process-wide drift at the bottom, inherited overrides, own ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from optctx import _native
from optctx._native import Setting
from optctx.engine.engine import Engine
from optctx.errors import OptionValueError
from optctx.image.options import RegisteredOption
from optctx.values.overrides import Override, make_override
from optctx.values.read_values import Value, read_value
from optctx.values.registry import find
from optctx.values.states import State
from optctx.values.texts import Texts, has_text, text_form


class Layers:
    """A full, immutable set of values for the options of one LLVM: what an OptionContext holds.

    `drift`: what differed process-wide from what LLVM registered, when the layers were made. `inherited` and
    `own`: overrides by the option's own name; a later layer hides an earlier one. Equal if LLVM cannot tell
    them apart. It shows itself as an OptionContext, because it stands for one in messages.
    """

    __slots__ = ("_native", "drift", "engine", "inherited", "own")

    def __init__(
        self,
        engine: Engine,
        drift: Setting,
        inherited: Mapping[str, Override],
        own: Mapping[str, Override],
        native: _native.Context | None = None,
    ) -> None:
        self.engine = engine
        self.drift = drift
        self.inherited = inherited
        self.own = own
        self._native = native

    @classmethod
    def registered(cls, engine: Engine) -> Layers:
        """Make layers in which every option has the value that LLVM registered."""
        return cls(engine, engine.space.no_drift(), {}, {})

    @classmethod
    def outside(cls, engine: Engine) -> Layers:
        """Make layers of what LLVM reads outside all contexts at this moment."""
        if _native.outside_rule(engine.index) == _native.Outside.defaults:
            return cls.registered(engine)
        return cls(engine, engine.space.drift(), {}, {})  # LLVM's own values

    @classmethod
    def of_thread(cls, engine: Engine, scope: _native.Context) -> Layers:
        """Make layers of a scope that C++ code has entered. All of its overrides count as own ones."""
        made = [_given_override(engine, slot, *given) for slot, given in _native.overrides_of(scope)]
        return cls(engine, scope.base, {}, _by_name(made), scope)

    def on_top(self, made: Iterable[Override]) -> Layers:
        """Return layers that inherit everything, with `made` as own overrides."""
        return Layers(self.engine, self.drift, self.overridden(), _by_name(made))

    def beside(self, made: Iterable[Override]) -> Layers:
        """Return the same layers, with `made` among the own overrides."""
        return Layers(self.engine, self.drift, self.inherited, _over(self.own, _by_name(made)))

    # What threads enter

    @property
    def native(self) -> _native.Context:
        """The native context, which threads enter; made at the first use."""
        return self.make_native() if self._native is None else self._native

    def make_native(self, reads: _native.Reads | None = None) -> _native.Context:
        """Make the native context, at most once and before `native`. Reads are marked in `reads`."""
        settings = [override.setting for override in self.overridden().values()]
        self._native = _native.Context.make(self.engine.space, self.drift, settings, reads)
        return self._native

    @property
    def reads(self) -> _native.Reads | None:
        """Where reads of the values are marked; None where no recorder asks."""
        return None if self._native is None else self._native.reads

    # What they hold

    def overridden(self) -> dict[str, Override]:
        """Return the overrides in force, by the options' own names; one that was given later comes later."""
        return _over(self.inherited, self.own)

    def names(self) -> set[str]:
        """Name the options that may differ from their registered state."""
        drifted = (option.name for option, _, _ in self.engine.drifted(self.drift))
        return {*self.inherited, *self.own, *drifted}

    def option(self, name: str) -> RegisteredOption:
        """Return the option of this name, which may be an alias of it. Raises UnknownOptionError."""
        return self.engine.resolve(find(self.engine, name))

    def read(self, option: RegisteredOption) -> Value:
        """Return the value of an option that is not an alias."""
        override = self.own.get(option.name) or self.inherited.get(option.name)
        if override is not None and not option.type.readable:
            return override.value()
        if option.slot is None:  # in LLVM's own storage for every context
            return read_value(option, option.place.address)
        return read_value(option, option.value_in(self.native.address))

    def state(self, name: str) -> State:
        """Return all that LLVM can find out about an option here. Raises UnknownOptionError."""
        option = self.option(name)
        value = self.read(option)
        if option.slot is None:
            return State(value, 0)
        return State(value, _native.option_at(self.native.address(option.slot)).occurrences)

    def key(self) -> tuple[str, frozenset[tuple[str, State]]]:
        """Return what equality compares: the library, and every state that is not as registered."""
        registered = Layers.registered(self.engine)
        states = ((name, self.state(name)) for name in self.names())
        return self.engine.image.build_id, frozenset(s for s in states if s[1] != registered.state(s[0]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layers):
            return NotImplemented
        return self is other or self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def differing(self, other: Layers) -> list[str]:
        """Name the options that LLVM can tell apart here and there, in order."""
        names = sorted(self.names() | other.names())
        return [name for name in names if self.state(name) != other.state(name)]

    def look_up(self, name: str) -> Value:
        """Return the value of an option or alias. Raises UnknownOptionError."""
        return self.read(self.option(name))

    def __repr__(self) -> str:
        """Show all that may differ from what LLVM registered: the base has what was inherited or drifted."""
        drifted = self.engine.drifted(self.drift)
        base = {
            **{option.name: read_value(option, value) for option, _, value in drifted},
            **{name: override.value() for name, override in self.inherited.items()},
        }
        base = {name: value for name, value in base.items() if name not in self.own}
        own = {override.name: override.value() for override in self.own.values()}
        return f"OptionContext({own!r}, base=OptionContext({base!r}))" if base else f"OptionContext({own!r})"

    # As text

    def portable(self) -> tuple[dict[str, Texts], dict[str, Texts]]:
        """Return (inherited, own) as text, for another process.

        Raises OptionValueError for a value without text.
        """
        inherited = {**self._drifted_texts(), **_portable(self.inherited)}
        return inherited, _portable(self.own)

    def flat(self) -> dict[str, Texts]:
        """Merge all layers into one set of texts. Raises as `portable` does."""
        return {**self._drifted_texts(), **_portable(self.overridden())}

    def _drifted_texts(self) -> dict[str, Texts]:
        """Return the texts of drifted options that no override replaces."""
        found = {}
        for option, _, value in self.engine.drifted(self.drift):
            name = option.name
            if name in self.inherited or name in self.own:
                continue
            given = text_form(option, read_value(option, value))
            if given is None:
                raise OptionValueError(
                    f"cannot pickle or stamp a context that inherits a process-wide value of {name!r}, "
                    "which has no text form"
                )
            found[given[0]] = given[1]
        return found


class HasLayers(Protocol):
    """An OptionContext, as far as it is known where no context is made."""

    @property
    def _layers(self) -> Layers: ...
    @property
    def _unread(self) -> str: ...


def set_inside(owner: HasLayers | Layers, layers: Layers) -> tuple[Layers, list[Override]] | None:
    """Return what this thread sees inside `owner`, whose layers these are: (layers, what was set inside).

    What code inside gave to LLVM's own setters becomes overrides on top of the layers. None if nothing was
    set there. Call it on a thread that is inside.
    """
    engine = layers.engine
    given = _native.given_inside(engine.index, owner)
    if given is None:
        return None
    was_reset, by_slot = given
    if was_reset:
        layers = Layers.registered(engine)
    new = [_given_override(engine, slot, *occurrences) for slot, occurrences in by_slot.items()]
    return layers.beside(new), new


def _given_override(
    engine: Engine, slot: int, occurrences: list[tuple[str, str | None]], setting: Setting
) -> Override:
    """Make the override for an option that was set inside, under the name of its last occurrence.

    Without occurrences, code wrote the value through a pointer. The texts are then made from the value.
    """
    option = engine.plan.owners[slot]
    if occurrences:
        last = occurrences[-1][0]
        return Override(last, tuple(text for name, text in occurrences if name == last), option, setting)
    given = text_form(option, Override(option.name, (), option, setting).value())
    if given is None:
        raise OptionValueError(
            f"{option.name!r} was written through a pointer inside the scope, and its value has no "
            "text; give it to LLVM's setters, or to a context"
        )
    return Override(*given, option, setting)


def _portable(overrides: Mapping[str, Override]) -> dict[str, Texts]:
    """Return the texts of overrides by name. Raises OptionValueError for bytes that are no text."""
    for each in overrides.values():
        if not has_text(each.texts):
            raise OptionValueError(
                f"cannot pickle or stamp a context with a value of {each.name!r} that has no text form"
            )
    return {each.name: each.texts for each in overrides.values()}


def rebuild(engine: Engine, inherited: Mapping[str, Texts], own: Mapping[str, Texts]) -> Layers:
    """Make layers again of what `Layers.portable` returned."""
    layers = Layers.registered(engine)
    for given in (inherited, own):
        layers = layers.on_top([make_override(engine, name, texts) for name, texts in given.items()])
    return layers


def _over(below: Mapping[str, Override], above: Mapping[str, Override]) -> dict[str, Override]:
    """Put overrides on top of others, and after them: of `debug` and `debug-only` the last one counts."""
    return {**{name: each for name, each in below.items() if name not in above}, **above}


def _by_name(made: Iterable[Override]) -> dict[str, Override]:
    """Map the options' own names to the last override of each, whatever names these were given under."""
    return {override.option.name: override for override in made}
