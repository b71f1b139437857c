"""Values of other libraries: each is the Python value that it holds, or one error that can be shown."""

from __future__ import annotations

import decimal
import enum
import fractions
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
    EIGHT = "8"
    NUMBER = 8
    TRUE = True
    NOTHING = None


class Number(int, enum.Enum):
    EIGHT = 8


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
    (np.bool_(True), True),
    (np.bool_(False), False),
    *((np.dtype(code).type(8), 8) for code in "bBhHiIlLqQ"),
    *((np.dtype(code).type(0.1), float(np.dtype(code).type(0.1))) for code in "efd"),
    (np.array(8), 8),
    (np.array(True), True),
    (np.str_("8"), "8"),
    (Text.EIGHT, "8"),
    (Held.EIGHT, "8"),
    (Held.NUMBER, 8),
    (Held.TRUE, True),
    (Number.EIGHT, 8),
    (Odd("8"), "8"),
    ([Text.EIGHT, np.str_("9")], ["8", "9"]),
    ([np.int64(1), Number.EIGHT], [1, 8]),
    (np.array([1, 2]), [1, 2]),
    (np.array(["a", "b"]), ["a", "b"]),
]
REFUSED: list[object] = [
    *(
        np.datetime64("2020"),
        np.timedelta64(1, "s"),
        np.complex128(1),
        np.array([[1, 2], [3, 4]]),
        np.void(b"8"),
    ),
    *(
        fractions.Fraction(1, 2),
        decimal.Decimal("0.5"),
        b"8",
        bytearray(b"8"),
        memoryview(b"8"),
        None,
        [None],
        Held.NOTHING,
    ),
    *(object(), Frame(), {1: 2}, lambda: 8, [b"8"], [[1]], 2**70000, [Frame()]),
    *(
        raising(f"__{name}__")
        for name in ("eq", "bool", "index", "str", "repr", "iter", "float", "len", "int")
    ),
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
                assert found.args() == OptionContext({name: same}, base="defaults").args()
                assert OptionContext.from_args(found.args(), base="defaults") == found
    assert taken >= {repr(same) for _, same in HELD}


def test_any_other_value_is_one_error_and_changes_nothing(names: list[str]) -> None:
    before = process_state()
    for name in names:
        for value in REFUSED:
            assert outcome(name, value) in ("OptionTypeError", "OptionValueError")
    assert process_state() == before
