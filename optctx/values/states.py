"""The state of an option as LLVM can find it out: its value, and how often it was given.

For the process, and under a context; as objects to compare here, and as texts that identify a state in every
process. From those of the options that a compilation read, a key is made.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optctx._native import (
    Context,
    Kind,
    Setting,
    option_at,
    read_bytes,
)
from optctx.engine.engine import Engine
from optctx.image.memory import WORD
from optctx.image.options import RegisteredOption
from optctx.plan.refusals import COPIED_FOR_GOOD
from optctx.values.read_values import Value, read_default, read_value

_LIST_DEFAULTS = 24  # bytes from a cl::list's values to the vector of its cl::list_init values


@dataclass(frozen=True, eq=False)
class State:
    """What LLVM can find out about an option: its value, and how often it was given.

    Two are equal that LLVM treats alike: it asks for the value, and whether the option was given. `value` is
    None for types without a readable form, whose changes show in `occurrences` only.
    """

    value: Value
    occurrences: int
    readable: bool = True

    @property
    def given(self) -> bool:
        """Whether the option was given, as on a command line."""
        return self.occurrences != 0

    @property
    def text(self) -> str:
        """A text that is the same in every process for equal states of a readable option."""
        return f"{'given' if self.given else 'not given'} {_exact(self.value)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, int]:
        return _exact(self.value), self.given if self.readable else self.occurrences


def _exact(value: Value) -> str:
    """Write the value as a text that is equal for equal values, and only for those. A NaN equals itself."""
    if isinstance(value, list):
        return f"[{', '.join(map(_exact, value))}]"
    return value.hex() if isinstance(value, float) else repr(value)


def _state(option: RegisteredOption, address: int, occurrences: int) -> State:
    """Read the state of an option whose value is at this address."""
    return State(read_value(option, address), occurrences, option.type.readable)


def live_state(option: RegisteredOption) -> State:
    """Read the state in LLVM's own storage at this moment."""
    return _state(option, option.place.address, option_at(option.address).occurrences)


def registered_state(engine: Engine, option: RegisteredOption) -> State:
    """Return the state from `cl::init`, independent of later changes.

    For a list that contexts refuse, it is known only if `cl::list_init` gave nothing. Otherwise the state is
    not readable.
    """
    if option.slot is not None:
        return _state(option, option.value_in(engine.space.default_address), 0)
    kind = option.type.kind
    if not option.type.readable:
        return State(None, 0, False)
    if kind == Kind.list:
        begin, end = memoryview(read_bytes(option.place.address + _LIST_DEFAULTS, 2 * WORD)).cast("Q")
        return State([], 0) if begin == end else State(None, 0, False)
    if kind == Kind.bits:
        return State([], 0)
    return State(read_default(option), 0)


def drifted_states(engine: Engine, drift: Setting) -> list[tuple[RegisteredOption, State]]:
    """List every option in `drift` with its state there."""
    return [
        (option, _state(option, value, option_at(address).occurrences))
        for option, address, value in engine.drifted(drift)
    ]


def value_under(context: Context, option: RegisteredOption) -> Value:
    """Read the value that LLVM sees under the context. The option must be scopable."""
    return read_value(option, option.value_in(context.address))


# As texts, which identify a state in every process


def text_under(context: Context, option: RegisteredOption) -> str:
    """Write a text that identifies the state of a scopable option in every process.

    For a value without a readable form it is the text that LLVM was given. If that is unknown, because the
    option was set process-wide, every call returns a different text.
    """
    assert option.slot is not None
    if option.type.kind == Kind.other:
        text = context.text(option.slot)
        return f"given {text!r}" if text else _unlike_any()
    occurrences = option_at(context.address(option.slot)).occurrences
    return _state(option, option.value_in(context.address), occurrences).text


def process_options(engine: Engine) -> list[RegisteredOption]:
    """List the options that cannot be scoped. Reads of these options are not seen."""
    registered = engine.plan.options.values()
    return [option for option in registered if option.scope == "process" and not option.alias_of]


def process_texts(engine: Engine) -> list[str]:
    """Write name and state of each option that cannot be scoped."""
    return [f"{option.name}: {_process_text(option)}" for option in process_options(engine)]


def _process_text(option: RegisteredOption) -> str:
    state = live_state(option)
    if not option.type.readable:
        return _unlike_any() if state.given else "not given"
    if state.given and (option.callback or option.name in COPIED_FOR_GOOD):
        return _unlike_any()  # the value that counts cannot be read back
    return state.text


def _unlike_any() -> str:
    return os.urandom(16).hex()


def changed_options(engine: Engine, context: Context) -> dict[str, RegisteredOption]:
    """Find the scopable options that the context does not have as registered, by name."""
    owners = engine.plan.owners
    changed = [owners[slot] for slot in context.changed if slot in owners]
    return {option.name: option for option in changed}


_FINGERPRINT_FORMAT = 1  # of the hashed text


def fingerprint_of(
    engine: Engine, scopes: Iterable[tuple[Context, Sequence[RegisteredOption]]], process: list[str]
) -> str:
    """Hash what was read, and under which values.

    `scopes`: contexts in the order in which they were first entered, each with the options read under it.
    `process`: the states of the options that cannot be scoped (`process_texts`).
    """
    parts = [(sorted(o.name for o in read), _texts(engine, context, read)) for context, read in scopes]
    text = json.dumps([_FINGERPRINT_FORMAT, engine.image.build_id, parts, process])
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def _texts(engine: Engine, context: Context, read: Iterable[RegisteredOption]) -> list[tuple[str, str]]:
    """Write (name, state) of the read options that are not as registered in the context.

    The build id stands for the registered states.
    """
    changed = changed_options(engine, context)
    names = sorted(changed.keys() & {option.name for option in read})
    return [(name, text_under(context, changed[name])) for name in names]
