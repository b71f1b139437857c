"""Values of other libraries: each is the Python value that it holds, or one error that can be shown."""

from __future__ import annotations

import decimal
import enum
import fractions
import pathlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optctx import OptctxError, OptionContext, OptionTypeError
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.engine.attach import attach
from tests.support.ir_texts import SCALE, X86
from tests.support.rows import rows
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


def test_llvm_compiles_under_them_as_a_fresh_process_does(fresh: FreshProcess) -> None:
    class Switch(enum.Enum):
        OFF = "false"

    job = Job(SCALE, triple=X86, emit="assembly")
    plain = fresh.compile(job)
    for value, text in ((np.bool_(False), "false"), (Switch.OFF, "false"), (np.array(False), "false")):
        wanted = fresh.compile(replace(job, options=(f"-vectorize-loops={text}",)))
        assert wanted != plain
        with OptionContext({"vectorize-loops": value}, base="defaults"):
            assert compile_job(job) == wanted
    wanted = fresh.compile(replace(job, options=("-unroll-count=7",)))
    assert wanted != plain
    for count in (np.uint8(7), np.int64(7), np.array(7), np.str_("7")):
        with OptionContext({"unroll-count": count}, base="defaults"):
            assert compile_job(job) == wanted


def test_any_other_value_is_one_error_and_changes_nothing(names: list[str]) -> None:
    before = process_state()
    for name in names:
        for value in REFUSED:
            assert outcome(name, value) in ("OptionTypeError", "OptionValueError")
    assert process_state() == before


def test_a_path_is_no_text(names: list[str]) -> None:
    for name in names:
        assert outcome(name, pathlib.Path("8")) == "OptionTypeError"


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\u202e8", "a\x07", "\x9b"])
def test_a_message_has_no_character_that_acts_on_a_terminal(names: list[str], text: str) -> None:
    for name in names:
        outcome(name, text)  # looks at the message
        outcome(name, [text, text])
    attempts: list[Callable[[], object]] = [
        lambda: OptionContext({text: 1}),
        lambda: OptionContext.from_args(f"-{text}"),
    ]
    for wrong in attempts:
        with pytest.raises(OptctxError) as refused:
            wrong()
        assert str(refused.value).isprintable()


@rows(
    ("argument", "value"),
    [
        (argument, value)
        for argument in ("base", "unread")
        for value in (np.array([1, 2]), raising("__eq__"), np.bool_(True), Frame())
    ],
)
def test_a_mode_is_a_word(argument: str, value: Any) -> None:
    with pytest.raises(OptionTypeError) as refused:
        OptionContext({"unroll-count": 4}, **{argument: value})
    assert argument in str(refused.value)
    assert str(refused.value).isprintable()


def test_names_and_lookups_take_members_of_an_enum_and_nothing_odd() -> None:
    class Name(str, enum.Enum):  # noqa: UP042
        UNROLL = "unroll-count"

    context = OptionContext({Name.UNROLL: np.uint8(4)})
    assert context == OptionContext(unroll_count=4)
    assert context[Name.UNROLL] == context["unroll-count"] == 4
    for odd in (np.array([1]), raising("__eq__")):
        with pytest.raises(OptionTypeError):
            context.get("unroll-count", odd)  # type: ignore[call-overload]
