"""`drift()`: the options whose process-wide state differs from the registered one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from optctx._native import CoveredStorage, process_wide_epoch
from optctx.drifting.option_state import OptionState, drifted_states, outside_contexts, registered_state
from optctx.engine.attach import Engine, attach
from optctx.engine.plan import PlannedOption
from optctx.registry.values import Value

__all__ = ["Drift", "Drifts", "drift", "refused", "times"]


@dataclass(frozen=True)
class Drift:
    """An option whose process-wide value is not the registered one.

    Attributes:
        name: The option.
        registered: The value that `cl::init` gave; None for a type without a readable form.
        value: The process-wide value now; None for a type without a readable form.
        occurrences: How often the option was given; 0 if code wrote the variable instead. LLVM can treat an
            option that was given its registered value differently from one that was not given.
        readable: Whether the type has a readable form.
    """

    name: str
    registered: Value
    value: Value
    occurrences: int
    readable: bool = True

    @property
    def given(self) -> bool:
        """Whether the option was given, as on a command line."""
        return self.occurrences != 0

    def __str__(self) -> str:
        """One line, for reports."""
        if not self.readable:
            return f"{self.name}: {times(self.occurrences)} (its type has no readable form)"
        return (
            f"{self.name}: {self.registered!r} was registered, {self.value!r} now ({times(self.occurrences)})"
        )


class Drifts(Mapping[str, Drift]):
    """Every option that was set process-wide, by name. `str()` gives a line for each. Immutable."""

    def __init__(self, found: Mapping[str, Drift]) -> None:
        self._found = dict(found)

    def __getitem__(self, name: str) -> Drift:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __str__(self) -> str:
        return "\n".join(map(str, self._found.values())) or "every option is as it was registered"

    def __repr__(self) -> str:
        return f"<Drifts: {', '.join(self._found) or 'none'}>"


def drift() -> Drifts:
    """List the options that differ, for the whole process, from what LLVM registered.

    An option differs by its value, or because it was given. Another library in the process can have set it
    through llvmlite's `set_option` or directly, at any time, or LLVM wrote it outside all contexts. An alias
    counts as the option that it stands for. Changes that contexts make are left out, including those of
    `process_wide="exclusive"`. Attaches at first use; changes nothing.

    Raises:
        UnsupportedImageError: The process has no LLVM that optctx can use.
    """
    engine = attach()
    states = drifted_states(engine, engine.space.drift())
    states.update(_outside_contexts(engine))
    found = []
    for address, state in states.items():
        option = engine.plan.options[address]
        registered = registered_state(engine, option)
        if state.key != registered.key:
            found.append(_drift(option.record.name, registered, state))
    return Drifts({each.name: each for each in sorted(found, key=lambda each: each.name)})


def refused(engine: Engine) -> list[PlannedOption]:
    """The options that contexts have no storage for, without aliases."""
    options = engine.plan.options.values()
    return [
        each
        for each in options
        if not each.record.alias_of and (each.slot is None or each.scope == "process")
    ]


def times(count: int) -> str:
    """Say in words how often an option was given."""
    if count == 0:
        return "not given"
    return "given once" if count == 1 else f"given {count} times"


def _outside_contexts(engine: Engine) -> dict[int, OptionState]:
    """Address of the option -> state, for options that contexts have no storage for."""
    while True:
        epoch = process_wide_epoch(engine.index)
        ours = CoveredStorage()
        states = {each.record.address: outside_contexts(engine, each, ours) for each in refused(engine)}
        if process_wide_epoch(engine.index) == epoch:
            return states
        # A context changed or restored them in between.


def _drift(name: str, registered: OptionState, now: OptionState) -> Drift:
    return Drift(name, registered.value, now.value, now.occurrences, now.readable)
