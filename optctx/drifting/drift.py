"""`drift()`: options whose process-wide state is not the registered one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from optctx.engine.attach import attach
from optctx.image.loaded import Image
from optctx.values.read_values import Value
from optctx.values.states import drifted_states, live_state, registered_state
from optctx.wording import html_table

_NAMED = 8  # options in a short text


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
        """Return one line for reports."""
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
        named = list(self._found)[:_NAMED]
        more = len(self._found) - len(named)
        return f"<Drifts: {', '.join(named) or 'none'}{f' and {more:,} more' if more else ''}>"

    def _repr_html_(self) -> str:
        headings = ("option", "registered", "now", "given")
        rows = ((d.name, str(d.registered), str(d.value), times(d.occurrences)) for d in self._found.values())
        return html_table("Options that were set process-wide", headings, rows, len(self._found))


def drift(image: Image | None = None) -> Drifts:
    """List the options that differ, for the whole process, from what LLVM registered.

    An option differs by its value, or because it was given. Another library in the process can have set it
    through llvmlite's `set_option` or directly, at any time, or LLVM wrote it outside all contexts. An alias
    counts as the option that it stands for. Changes that contexts make are left out. Attaches at
    first use; changes nothing. `image`: of which LLVM, from `loaded_image`; None means llvmlite's.

    Raises:
        UnsupportedImageError: The process has no LLVM that optctx can use.
        OptionTypeError: `image` is not an image.
    """
    engine = attach(image)
    states = drifted_states(engine, engine.space.drift())
    options = engine.plan.options.values()
    states += [(each, live_state(each)) for each in options if not each.alias_of and each.slot is None]
    found = []
    for option, state in states:
        registered = registered_state(engine, option)
        if state != registered:
            now = state.value, state.occurrences, state.readable
            found.append(Drift(option.name, registered.value, *now))
    return Drifts({each.name: each for each in sorted(found, key=lambda each: each.name)})


def times(count: int) -> str:
    """Say in words how often an option was given."""
    if count == 0:
        return "not given"
    return "given once" if count == 1 else f"given {count} times"
