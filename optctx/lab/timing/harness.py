"""What the entry point of a kernel takes and returns: as plain data, in TOML, and held against a module."""

from __future__ import annotations

import functools
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_type_hints

import msgspec
from msgspec import Meta, Struct

from optctx.compiling import check_readable
from optctx.compiling.job import parse_module
from optctx.errors import OptctxError, shown
from optctx.toml import parse_toml, read_toml, toml_value, typed
from optctx.wording import counted, did_you_mean, nearest

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, ValueRef

_MOST = 1 << 30  # bytes of all arrays
_MOST_F32 = math.nextafter((2 - 2**-24) * 2.0**127, 0)  # what rounds to the largest number, as C rounds
_MOST_F64 = sys.float_info.max
_FILLS = ("random", "zeros", "arange")
_HIGH = 100  # of random integers, by default
_KIND = "kind"  # the tag that tells arguments apart in a message; in TOML their other keys do
# Parameters that are not passed as their type says.
_REFUSED = (
    b"byval",
    b"sret",
    b"inalloca",
    b"preallocated",
    b"inreg",
    b"nest",
    b"swiftself",
    b"swifterror",
    b"swiftasync",
)
# LLVM's text of a function: what stands before its calling convention, if it has one, and after.
_BEFORE = re.compile(
    r"define (?:(?:external|weak|weak_odr|linkonce|linkonce_odr|dso_local|dso_preemptable|default|hidden"
    r"|protected|dllimport|dllexport) )*"
)
_AFTER = re.compile(
    r"(?:(?:noundef|zeroext|signext|inreg|range\([^)]*\)|nofpclass\([^)]*\)) )*(?:void|i\d+|float|double) @"
)
_C = ("x86_64_sysvcc",)  # what C calls are on x86-64 Linux; nothing stands for the C convention itself

Kind = Literal["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"]
Text = Annotated[str, Meta(min_length=1, pattern=r"^[^\0]*$")]
Number = Union[bool, int, float]  # noqa: UP007  evaluated


@dataclass(frozen=True)
class NumberKind:
    """How Python's `array`, LLVM IR and the calling convention have a type. `low`, `high`: of integers."""

    code: str  # of `array`
    ir: str
    extension: str  # attribute of an argument or returned value: the caller extends it to a register
    size: int  # bytes
    low: int = 0
    high: int = 0
    most: float = 0.0  # of floats, without infinity

    @property
    def is_float(self) -> bool:
        return self.code in "fd"


def _integer(code: str, bits: int, *, signed: bool) -> NumberKind:
    extension = ("signext" if signed else "zeroext") if bits < 64 else ""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return NumberKind(code, f"i{bits}", extension, bits // 8, low, high)


KINDS: dict[Kind, NumberKind] = {
    "bool": NumberKind("B", "i1", "zeroext", 1, 0, 1),
    "i8": _integer("b", 8, signed=True),
    "i16": _integer("h", 16, signed=True),
    "i32": _integer("i", 32, signed=True),
    "i64": _integer("q", 64, signed=True),
    "u8": _integer("B", 8, signed=False),
    "u16": _integer("H", 16, signed=False),
    "u32": _integer("I", 32, signed=False),
    "u64": _integer("Q", 64, signed=False),
    "f32": NumberKind("f", "float", "", 4, most=_MOST_F32),
    "f64": NumberKind("d", "double", "", 8, most=_MOST_F64),
}


class MisfitError(OptctxError, ValueError):
    """Why a value does not fit: msgspec adds where it stands."""


class _Checked(Struct, frozen=True, forbid_unknown_fields=True):
    """A record whose fields have the types that it says also if Python gives them; lists become tuples."""

    def __post_init__(self) -> None:
        for name, hint in _hints(type(self)).items():
            try:
                value = msgspec.convert(getattr(self, name), hint, builtin_types=(bytes,))
            except msgspec.ValidationError as error:
                where = "" if "`$" in str(error) else f" for {name}"
                found = f"{str(error).replace('$', name)}{where}, found {shown(getattr(self, name))}"
                raise MisfitError(found) from None
            msgspec.structs.force_setattr(self, name, value)
        self._check()

    def _check(self) -> None:
        """Raise MisfitError for values that do not fit each other."""


@functools.cache
def _hints(record: type) -> Mapping[str, Any]:
    hints = get_type_hints(record, include_extras=True)
    return {each.name: hints[each.name] for each in msgspec.structs.fields(record)}


class Array(_Checked, frozen=True, tag="array", tag_field=_KIND):
    """An array in memory, which the entry point takes as a pointer to its first element.

    `fill`: "random" (uniform from `low` to `high`, from `seed`), "zeros", "arange" (counts from `low`), or a
    number. Random floats are below `high`, 1 by default; random integers include it, 100 by default.
    `contents`: the bytes of its elements instead, in the order of this machine. `output`: what the call
    leaves in it is compared. Raises OptctxError for what does not fit.
    """

    type: Kind = msgspec.field(name="array")
    shape: Annotated[tuple[Annotated[int, Meta(ge=1)], ...], Meta(min_length=1)]
    fill: Union[Literal["random", "zeros", "arange"], int, float] = "random"  # noqa: UP007  evaluated
    seed: int = 0
    low: int | float | None = None
    high: int | float | None = None
    output: bool = False
    contents: bytes | None = None

    def _check(self) -> None:
        kind = KINDS[self.type]
        if self.size > _MOST:
            raise MisfitError(f"an array has at most {_MOST:,} bytes, found the shape {shown(self.shape)}")
        if not isinstance(self.fill, str):
            _check_number(self.fill, self.type, kind)
        for bound in (self.low, self.high):
            if bound is not None:
                _check_number(bound, self.type, kind)
                if not math.isfinite(bound):
                    raise MisfitError(f"a range has finite bounds, found {shown(bound)}")
        if self.bounds[0] > self.bounds[1]:
            raise MisfitError(f"a range goes from low to high, found {shown(self.bounds)}")
        if float(self.bounds[1]) - float(self.bounds[0]) == math.inf:
            raise MisfitError(f"a range has ends {_MOST_F64:g} apart at most, found {shown(self.bounds)}")
        if self.contents is not None and len(self.contents) != self.size:
            raise MisfitError(f"this array has {self.size:,} bytes, found contents of {len(self.contents):,}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest random number."""
        kind = KINDS[self.type]
        low = 0 if self.low is None else self.low
        default = 1.0 if kind.is_float else min(_HIGH, kind.high)
        return low, max(low, default) if self.high is None else self.high

    @property
    def length(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.length * KINDS[self.type].size


class Value(_Checked, frozen=True, tag="value", tag_field=_KIND):
    """A number that the entry point takes. Raises OptctxError for one that its type cannot hold."""

    value: Number
    type: Kind = "i64"

    def _check(self) -> None:
        _check_number(self.value, self.type, KINDS[self.type])


class Harness(_Checked, frozen=True):
    """The entry point of a kernel and what it is called with.

    `repeat`: calls between two restorings of the inputs; None calibrates them to about a millisecond.
    `libraries`: shared libraries that define what the kernel uses, besides libc and libm. Raises OptctxError.
    """

    entry: Text
    arguments: tuple[Union[Array, Value], ...] = ()  # noqa: UP007  evaluated
    returns: Kind | None = None
    repeat: Annotated[int, Meta(ge=1)] | None = None
    libraries: tuple[Text, ...] = ()

    def _check(self) -> None:
        total = sum(array.size for array in self.arrays)
        if total > _MOST:
            raise MisfitError(f"the arrays have at most {_MOST:,} bytes together, found {total:,}")

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(argument for argument in self.arguments if isinstance(argument, Array))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Harness:
        """Read a harness from a file. Raises OptctxError, which names the file and the place in it."""
        return _from_table(read_toml(path), os.fsdecode(path))

    @classmethod
    def loads(cls, text: str, name: str = "harness") -> Harness:
        """Read a harness from a text in TOML; `name` stands for it in an OptctxError."""
        return _from_table(parse_toml(text, name), name)

    def dumps(self) -> str:
        """The harness in TOML, without what is as by default: `Harness.loads` gives an equal one."""
        tables = [("[[arguments]]", argument) for argument in self.arguments]
        lines = [line for title, record in [("", self), *tables] for line in _lines(title, record)]
        return "\n".join(lines) + "\n"

    def digest(self) -> str:
        """SHA-256 of what the harness says, in hexadecimal. Equal harnesses have equal digests."""
        import hashlib

        return hashlib.sha256(self.dumps().encode()).hexdigest()

    def check(self, ir: str | bytes) -> None:
        """Hold the harness against a module, as text or bitcode.

        Raises OptctxError if the module does not define the entry point, or with other arguments; the message
        names the first that differs. Raises it, too, for a module that LLVM crashes on.
        """
        check_readable(ir)
        with opened_module(ir) as module:
            check_call(self, callable_function(self.entry, module))


def _check_number(value: bool | float, name: Kind, kind: NumberKind) -> None:
    if kind.is_float:
        if isinstance(value, bool):
            raise MisfitError(f"expected a number for {name}, found {shown(value)}")
        if kind.most < abs(value) != math.inf:
            raise MisfitError(f"{name} holds no such number: {shown(value)}")
    elif isinstance(value, float) or (isinstance(value, bool) and name != "bool"):
        raise MisfitError(f"expected an integer for {name}, found {shown(value)}")
    elif not kind.low <= value <= kind.high:
        raise MisfitError(f"{name} holds {kind.low} to {kind.high}, found {shown(value)}")


# In TOML


def _from_table(table: Mapping[str, Any], name: str) -> Harness:
    """The harness in a table of TOML. Which of `array` and `value` an argument has tells what it is."""
    told = dict(table)
    if told.get("returns") == "none":
        del told["returns"]
    if isinstance(arguments := told.get("arguments"), list):
        told["arguments"] = [_told(place, each, name) for place, each in enumerate(arguments)]
    known = [
        field.encode_name for record in (Harness, Array, Value) for field in msgspec.structs.fields(record)
    ]
    return typed(told, Harness, f"the harness {shown(name)}", [*known, *KINDS, *_FILLS])


def _told(place: int, argument: Any, name: str) -> Any:
    if not isinstance(argument, dict):
        return argument
    if ("array" in argument) == ("value" in argument) or _KIND in argument:
        raise OptctxError(
            f'cannot use the harness {shown(name)}: expected either array = "type" and a shape, or '
            f"value = number - at `$.arguments[{place}]`"
        )
    return {_KIND: "array" if "array" in argument else "value", **argument}


def _lines(title: str, record: Harness | Array | Value) -> Iterator[str]:
    if title:
        yield from ("", title)
    for each in msgspec.structs.fields(record):
        value = getattr(record, each.name)
        if each.name != "arguments" and (each.required or value != each.default or each.name == "type"):
            yield f"{each.encode_name} = {toml_value(value)}"


# Against a module


@contextmanager
def opened_module(ir: str | bytes) -> Iterator[ModuleRef]:
    """The module, read by LLVM in this process. Raises OptctxError if LLVM refuses it."""
    from llvmlite import binding  # importing optctx works without llvmlite

    with parse_module(ir, binding.create_context()) as module:
        yield module


def callable_function(entry: str, module: ModuleRef) -> ValueRef:
    """The function of that name. Raises OptctxError if a measurement cannot call it."""
    defined = {function.name: function for function in module.functions if not function.is_declaration}
    function = defined.get(entry)
    if function is None:
        near = did_you_mean(nearest(entry, defined))
        raise _not_callable(
            entry, f"the module defines no function of that name{'; ' + near if near else ''}"
        )
    if function.linkage.name in ("internal", "private"):
        raise _not_callable(entry, "it is internal to its module; make it visible (no `static`)")
    if function.linkage.name == "available_externally":
        raise _not_callable(entry, "its code is elsewhere (available_externally)")
    if function.global_value_type.is_function_vararg:
        raise _not_callable(entry, "it takes a variable number of arguments")
    return function


def kinds_of(ir: str) -> list[Kind]:
    """What a harness can call a type of LLVM IR."""
    return [name for name, kind in KINDS.items() if kind.ir == ir]


def _not_callable(entry: str, problem: str) -> OptctxError:
    return OptctxError(f"cannot call {shown(entry)}: {problem}")


def check_call(harness: Harness, function: ValueRef) -> None:
    """Raise OptctxError if the harness does not call the function as it is."""
    if problem := _problem(harness, function):
        raise _not_callable(harness.entry, problem)


def _problem(harness: Harness, function: ValueRef) -> str:
    parameters = list(function.arguments)
    if len(parameters) != len(harness.arguments):
        return (
            f"it takes {counted(len(parameters), 'argument')}, and the harness has {len(harness.arguments)}"
        )
    for place, (parameter, argument) in enumerate(zip(parameters, harness.arguments, strict=True), 1):
        expected = "ptr" if isinstance(argument, Array) else KINDS[argument.type].ir
        words = f"argument {place}{f' ({parameter.name})' if parameter.name else ''}"
        if (found := str(parameter.type)) != expected:
            given = f"an array of {argument.type}" if isinstance(argument, Array) else argument.type
            return f"{words} is {found} in the module, and {given} in the harness"
        for attribute in parameter.attributes:
            if attribute.startswith(_REFUSED):
                return f"{words} is passed as {attribute.decode()}, which a harness cannot describe"
            extension = "" if isinstance(argument, Array) else KINDS[argument.type].extension
            if attribute in (b"signext", b"zeroext") and attribute.decode() != extension:
                return f"{words} is {attribute.decode()} in the module, and {argument.type} in the harness"
    expected = "void" if harness.returns is None else KINDS[harness.returns].ir
    if (found := str(function.global_value_type.get_function_return())) != expected:
        return f"it returns {found}, {_advice(found, harness.returns)}"
    if convention := _convention(function):
        return f"its calling convention is {convention}; a harness calls C functions"
    return ""


def _convention(function: ValueRef) -> str:
    """The calling convention of a function that returns a number or nothing, if C calls differ; or ""."""
    line = next(line for line in str(function).splitlines() if line.startswith("define "))
    before = _BEFORE.match(line)
    assert before is not None
    rest = line[before.end() :]
    if _AFTER.match(rest):
        return ""
    name = rest.split(" ", 1)[0]
    return "" if name in _C else name


def _advice(found: str, said: str | None) -> str:
    kinds = ["none"] if found == "void" else kinds_of(found)
    if not kinds:
        return "which a harness cannot describe; call a function that returns a number or nothing"
    words = " or ".join(f'returns = "{kind}"' for kind in kinds)
    return f"and the harness says {said or 'none'}; write {words}"
