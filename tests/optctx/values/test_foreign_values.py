"""Values of other libraries: each is the Python value that it holds, or one error that can be shown."""

from __future__ import annotations

import decimal
import enum
from typing import Any

import numpy as np
import pytest

from optctx import OptctxError, OptionContext
from optctx.engine.attach import attach
from tests.support.scopes import process_state


class Text(str, enum.Enum):  # noqa: UP042  whose str() is not its value
    EIGHT = "8"

    def __str__(self) -> str:
        return "not the text of an option"


class Held(enum.Enum):
    TRUE = True
    NOTHING = None


class Odd(str):
    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


class Frame:
    """As a column of pandas shows itself, on several lines; and it has no truth."""

    dtype = np.dtype("int64")
    shape = (2,)

    def __bool__(self) -> bool:
        raise ValueError("the truth is ambiguous")

    def __repr__(self) -> str:
        return "0   \x1b[31m4\n1   5\n"


def raises(*_: object) -> Any:
    raise ZeroDivisionError("\x1b[31m")


def raising(name: str) -> object:
    return type("Raising", (), {name: raises})()


# What is given, and the Python value that it is.
HELD: list[tuple[object, object]] = [
    (np.bool_(False), False),
    (np.uint8(8), 8),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.array(8), 8),
    (np.str_("8"), "8"),
    (Text.EIGHT, "8"),
    (Held.TRUE, True),
    (Odd("8"), "8"),
    ([Text.EIGHT, np.str_("9")], ["8", "9"]),
    (np.array([1, 2]), [1, 2]),
]
REFUSED: list[object] = [
    *(np.datetime64("2020"), np.complex128(1), np.array([[1, 2], [3, 4]]), decimal.Decimal("0.5"), b"8"),
    *(None, [None], Held.NOTHING, object(), Frame(), {1: 2}, [[1]], 2**70000, [Frame()]),
    *(raising(f"__{name}__") for name in ("bool", "index", "str", "repr", "iter")),
]


@pytest.fixture(scope="module")
def names() -> list[str]:
    """An option of each type, of each type of elements, and of each with and without choices."""
    found = {
        (option.type.kind, option.type.element, option.choices is None): option.name
        for option in attach().options.values()
        if option.scope == "thread"
    }
    assert len(found) >= 14
    return list(found.values())


def outcome(name: str, value: object) -> OptionContext | str:
    """The context, or the name of the error, whose message can be shown."""
    try:
        return OptionContext({name: value}, base="defaults")
    except OptctxError as error:
        said = error
    assert str(said).isprintable()
    return type(said).__name__


def test_a_value_counts_as_the_python_value_that_it_holds(names: list[str]) -> None:
    taken = set()
    for name in names:
        for value, same in HELD:
            found = outcome(name, value)
            assert found == outcome(name, same), (name, same)
            if isinstance(found, OptionContext):
                taken.add(repr(same))
                assert OptionContext.from_args(found.args(), base="defaults") == found
    assert taken >= {repr(same) for _, same in HELD}


def test_any_other_value_is_one_error_and_changes_nothing(names: list[str]) -> None:
    before = process_state()
    for name in names:
        for value in REFUSED:
            assert outcome(name, value) in ("OptionTypeError", "OptionValueError")
    assert process_state() == before
