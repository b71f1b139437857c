"""What is different, process-wide, from what was registered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from optctx._native import CoveredStorage, process_wide_epoch
from optctx.drifting.state import State, drifted_states, outside_contexts, registered_state
from optctx.engine.attach import Engine, attach
from optctx.engine.plan import PlannedOption
from optctx.registry.values import Value

__all__ = ["Drift", "Drifts", "drift", "refused", "times"]


@dataclass(frozen=True)
class Drift:
    """An option that somebody has set for the whole process.

    `registered` is what cl::init said, `value` the process-wide value now; both are None for a type without a
    readable form. `occurrences`: how often it was given; 0 where something wrote the variable instead.
    LLVM may treat an option that was given its registered value unlike one that was not given.
    """

    name: str
    registered: Value
    value: Value
    occurrences: int
    readable: bool = True

    @property
    def given(self) -> bool:
        """Whether it was given as on a command line."""
        return self.occurrences != 0

    def __str__(self) -> str:
        """One line, for reports."""
        if not self.readable:
            return f"{self.name}: {times(self.occurrences)} (its type has no readable form)"
        return (
            f"{self.name}: {self.registered!r} was registered, {self.value!r} now ({times(self.occurrences)})"
        )


class Drifts(Mapping[str, Drift]):
    """Every option that was set process-wide, by name; `str()` gives a line for each. It does not change."""

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
    """Options whose process-wide value, or whether they were given, differs from what was registered.

    That is what another user of LLVM in this process has set, by llvmlite's `set_option` or otherwise, before
    optctx was there or since, and what LLVM has written itself outside of contexts. Aliases count as the
    option that they stand for. What contexts change is not in it, not even options that they change for the
    whole process while they are entered (`process_wide="exclusive"`).

    Attaches at first use; changes nothing. Raises UnsupportedImageError where there is no LLVM to look at.
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
    """Options that no context has storage of its own for; no aliases."""
    options = engine.plan.options.values()
    return [
        each
        for each in options
        if not each.record.alias_of and (each.slot is None or each.scope == "process")
    ]


def times(count: int) -> str:
    """How often an option was given, in words."""
    if count == 0:
        return "not given"
    return "given once" if count == 1 else f"given {count} times"


def _outside_contexts(engine: Engine) -> dict[int, State]:
    """Address of the option -> state, where no context has storage of its own."""
    while True:
        epoch = process_wide_epoch()
        ours = CoveredStorage()
        states = {each.record.address: outside_contexts(engine, each, ours) for each in refused(engine)}
        if process_wide_epoch() == epoch:  # else a context changed them meanwhile, or put them back
            return states


def _drift(name: str, registered: State, now: State) -> Drift:
    return Drift(name, registered.value, now.value, now.occurrences, now.readable)
