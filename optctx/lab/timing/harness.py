"""What the entry point of a kernel takes and returns, as plain data."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from optctx.errors import OptctxError, shown
from optctx.lab.timing.kinds import KINDS, Kind, NumberKind
from optctx.wording import did_you_mean, nearest

__all__ = ["Array", "Harness", "Value"]

_FILLS = ("random", "zeros", "arange")
_MOST = 1 << 30  # bytes of all arrays
_MOST_FLOAT = 1 << 1023  # of integers that are given for floats
_HIGH = 100  # of random integers, by default


@dataclass(frozen=True)
class Array:
    """An array in memory, which the entry point takes as a pointer to its first element.

    `fill`: "random" (uniform from `low` to `high`, from `seed`), "zeros", "arange" (counts from `low`), or a
    number. Random floats are below `high`, 1 by default; random integers include it, 100 by default.
    `contents`: the bytes of its elements instead, in the order of this machine. `output`: what the call
    leaves in it is compared. Raises OptctxError for what does not fit.
    """

    type: Kind
    shape: tuple[int, ...]
    fill: str | float = "random"
    seed: int = 0
    low: float | None = None
    high: float | None = None
    output: bool = False
    contents: bytes | None = None

    def __post_init__(self) -> None:
        kind = _kind(self.type)
        if not isinstance(self.shape, tuple):  # of TOML, or NumPy's own integers
            object.__setattr__(self, "shape", tuple(self.shape))
        for extent in self.shape:
            if not _is_int(extent) or extent < 1:
                raise OptctxError(f"a shape has positive integers, found {shown(extent)}")
        if not self.shape:
            raise OptctxError("a shape has at least one dimension; a single number is a value")
        if self.size > _MOST:
            raise OptctxError(f"an array has at most {_MOST:,} bytes, found the shape {shown(self.shape)}")
        if not _is_int(self.seed):
            raise OptctxError(f"a seed is an integer, found {shown(self.seed)}")
        if isinstance(self.fill, str):
            if self.fill not in _FILLS:
                near = did_you_mean(nearest(self.fill, _FILLS)) or f"expected {', '.join(_FILLS)} or a number"
                raise OptctxError(f"no way to fill an array is called {shown(self.fill)}; {near}")
        else:
            _check_number(self.fill, self.type, kind)
        self._check_range(kind)
        if self.contents is not None and len(self.contents) != self.size:
            raise OptctxError(f"this array has {self.size:,} bytes, found contents of {len(self.contents):,}")

    def _check_range(self, kind: NumberKind) -> None:
        for bound in (self.low, self.high):
            if bound is not None:
                _check_number(bound, self.type, kind)
                if not math.isfinite(bound):
                    raise OptctxError(f"a range has finite bounds, found {shown(bound)}")
        if self.bounds[0] > self.bounds[1]:
            raise OptctxError(f"a range goes from low to high, found {shown(self.bounds)}")

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


@dataclass(frozen=True)
class Value:
    """A number that the entry point takes. Raises OptctxError for one that its type cannot hold."""

    value: float
    type: Kind = "i64"

    def __post_init__(self) -> None:
        _check_number(self.value, self.type, _kind(self.type))


@dataclass(frozen=True)
class Harness:
    """The entry point of a kernel and what it is called with.

    `repeat`: calls between two restorings of the inputs; None calibrates them to about a millisecond.
    `libraries`: shared libraries that define what the kernel uses, besides libc and libm. Raises OptctxError.
    """

    entry: str
    arguments: tuple[Array | Value, ...] = ()
    returns: Kind | None = None
    repeat: int | None = None
    libraries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", tuple(self.arguments))
        object.__setattr__(self, "libraries", tuple(self.libraries))
        if not isinstance(self.entry, str) or not self.entry or "\0" in self.entry:
            raise OptctxError(f"a harness names an entry point, found {shown(self.entry)}")
        for argument in self.arguments:
            if not isinstance(argument, Array | Value):
                raise OptctxError(f"an argument is an Array or a Value, found {shown(argument)}")
        if self.returns is not None:
            _kind(self.returns)
        if self.repeat is not None and (not _is_int(self.repeat) or self.repeat < 1):
            raise OptctxError(f"repeat is a positive number of calls, found {shown(self.repeat)}")
        for library in self.libraries:
            if not isinstance(library, str) or not library or "\0" in library:
                raise OptctxError(f"a library is named by its file, found {shown(library)}")
        total = sum(array.size for array in self.arrays)
        if total > _MOST:
            raise OptctxError(f"the arrays have at most {_MOST:,} bytes together, found {total:,}")

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(argument for argument in self.arguments if isinstance(argument, Array))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Harness:
        """Read a harness from a file. Raises OptctxError, which names the file and the argument."""
        from optctx.lab.timing.harness_file import from_table
        from optctx.toml import read_toml

        return from_table(read_toml(path), os.fsdecode(path))

    @classmethod
    def loads(cls, text: str, name: str = "harness") -> Harness:
        """Read a harness from a text in TOML; `name` stands for it in an OptctxError."""
        from optctx.lab.timing.harness_file import from_table
        from optctx.toml import parse_toml

        return from_table(parse_toml(text, name), name)

    @classmethod
    def of_function(cls, entry: str, ir: str | bytes, *, file: str = "a harness") -> Harness:
        """The harness of a function without arguments in a module, as text or bitcode.

        Raises OptctxError as `check` does, and for a function with arguments: the message asks to describe
        them in `file`. LLVM reads the module in this process: damaged bitcode can end it.
        """
        from optctx.lab.timing.signature import harness_of

        return harness_of(entry, ir, file)

    def dumps(self) -> str:
        """The harness in TOML: `Harness.loads` gives an equal one."""
        from optctx.lab.timing.harness_file import to_text

        return to_text(self)

    def digest(self) -> str:
        """SHA-256 of what the harness says, in hexadecimal. Equal harnesses have equal digests."""
        import hashlib

        return hashlib.sha256(self.dumps().encode()).hexdigest()

    def check(self, ir: str | bytes) -> None:
        """Hold the harness against a module, as text or bitcode.

        Raises OptctxError if the module does not define the entry point, or with other arguments; the message
        names the first that differs. LLVM reads the module in this process: damaged bitcode can end it.
        """
        from optctx.lab.timing.signature import check_signature

        check_signature(self, ir)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(name: object) -> NumberKind:
    if isinstance(name, str) and name in KINDS:
        return KINDS[name]
    near = did_you_mean(nearest(str(name), KINDS)) or f"expected one of {', '.join(KINDS)}"
    raise OptctxError(f"no type is called {shown(name)}; {near}")


def _check_number(value: Any, name: Kind, kind: NumberKind) -> None:
    if kind.is_float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise OptctxError(f"expected a number for {name}, found {shown(value)}")
        if isinstance(value, int) and abs(value) > _MOST_FLOAT:
            raise OptctxError(f"{name} holds no such number: {shown(value)}")
        return
    if isinstance(value, bool) and name == "bool":
        return
    if not _is_int(value):
        raise OptctxError(f"expected an integer for {name}, found {shown(value)}")
    if not kind.low <= value <= kind.high:
        raise OptctxError(f"{name} holds {kind.low} to {kind.high}, found {shown(value)}")
