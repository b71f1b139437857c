"""What a measurement calls: a function of a module, with the arguments that a harness gives.

A harness is a Python file of the user's own, trusted as a test is, and runs in child processes:

    entry = "sum"                # the function; not needed if the module has one

    def arguments():             # of one call: writable buffers for pointers, numbers for numbers
        return numpy.arange(1000), 1000

    tolerance = 1e-6, 0.0        # of floats: relative and absolute difference that is no wrong result
    repeat = 1                   # calls between two restorings of the buffers (as many as fill a millisecond)
    seconds = 5.0                # for the times of all candidates, which are taken together
"""

from __future__ import annotations

import os
import re
import runpy
import traceback
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct, convert

from optctx.compiling import Job, check_readable
from optctx.errors import OptctxError, shown
from optctx.wording import counted, printable

# As `struct` has them: of integers the signed ones.
NUMBERS = {"i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "float": "f", "double": "d"}
_EXTENDED = {"signext", "zeroext"}  # attributes: the caller extends it to a register
# Attributes of parameters whose values the caller passes in its memory or in registers of its own choice.
_REFUSED = ("byval", "sret", "inalloca", "preallocated", "nest", "swift", "inreg", "byref", "addrspace")
_DEFINITION = re.compile(r"^define .*", re.MULTILINE)
# What may stand before the name of a function that C can call, beside the type of its result.
_PLAIN = {"define", "external", "weak", "weak_odr", "linkonce", "linkonce_odr", "default", "hidden"}
_PLAIN |= {"protected", "dso_local", "dso_preemptable", "noundef", "zeroext", "signext", "range", "nofpclass"}

_Bound = Annotated[float, Meta(ge=0)]


class Harness(Struct, frozen=True):
    """What a harness says beside its arguments. `gives`: whether it has some; `file`: "" for none."""

    file: str = ""
    entry: str = ""
    gives: bool = False
    relative: _Bound = 0.0
    absolute: _Bound = 0.0
    repeat: Annotated[int, Meta(gt=0)] | None = None
    seconds: Annotated[float, Meta(gt=0, lt=1e9)] = 5.0


class Kernel(Struct, frozen=True):
    """A function and its harness. `parameters` and `returned`: types as LLVM IR has them in a call."""

    entry: str
    parameters: tuple[str, ...] = ()
    returned: str = "void"
    harness: Harness = Harness()

    @property
    def signature(self) -> str:
        """The function as LLVM declares it, but for attributes."""
        types = ", ".join(each.split()[0] for each in self.parameters)
        return f"{self.returned} {printable(self.entry)}({types})"

    @property
    def identity(self) -> str:
        """What its figures depend on, for a study that goes on."""
        import hashlib

        told = b""
        if self.harness.file:
            with open(self.harness.file, "rb") as file:
                told = file.read()
        return f"{self.signature}, harness {hashlib.sha256(told).hexdigest()}"


def harness_beside(file: str) -> str:
    """The harness beside a file, "kernel_harness.py" for "kernel.ll"; "" if there is none."""
    place = _harness_name(file)
    return place if os.path.exists(place) else ""


def _harness_name(file: str) -> str:
    return "" if file == "-" else f"{os.path.splitext(file)[0]}_harness.py"


def find_kernel(job: Job, harness: Harness, file: str) -> Kernel:
    """The function of a module that is measured. `file`: that of the module, for a message.

    Without an entry in the harness, it is the only function that can be called. The job's LLVM reads the
    module in a fresh process. Raises OptctxError for what cannot be called, and if the function takes
    arguments and the harness gives none.
    """
    text = check_readable(job.ir, job.triple, job.llvm, emit="ir")
    functions = {each.name: each for each in map(_function, _DEFINITION.findall(text))}
    seen = (name for name, each in functions.items() if {"internal", "private"}.isdisjoint(each.words))
    names = [harness.entry] if harness.entry else [*seen]
    if len(names) != 1:
        found = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise OptctxError(
            f"cannot tell what to call ({found or 'there is no function'}): name one in a harness, with "
            'entry = "NAME"'
        )
    [entry] = names
    if (function := functions.get(entry)) is None:
        raise _not_callable(entry, "the module defines no function of that name")
    if odd := function.odd:
        expected = "a C function of numbers and pointers that other modules see"
        raise _not_callable(entry, f"expected {expected}, found {', '.join(odd)} in its definition")
    parameters = [" ".join([each[0], *_EXTENDED.intersection(each[1:-1])]) for each in function.parameters]
    kernel = Kernel(entry, tuple(parameters), function.words[-1], harness)
    if kernel.parameters and not harness.gives:
        path = harness.file or _harness_name(file) or "a file for --harness"
        raise _not_callable(
            kernel.signature,
            f"no harness says what to pass; write `def arguments(): return ...` into {path}, with the "
            "arguments of a call",
        )
    return kernel


class _Function(NamedTuple):
    """A function as LLVM prints it. `words`: before its name, the type of its result last.

    `parameters`: words of each, its type first and its name last.
    """

    name: str
    words: list[str]
    parameters: list[list[str]]

    @property
    def odd(self) -> list[str]:
        """What keeps a measurement from calling it: linkage, conventions of calls, types, attributes."""
        *words, returned = self.words
        found = [each for each in words if each.partition("(")[0] not in _PLAIN]
        found += [returned] if returned not in (*NUMBERS, "void") else []
        for kind, *attributes in self.parameters:  # the name is the last of these
            found += [kind] if kind not in (*NUMBERS, "ptr") else []
            found += [each for each in attributes[:-1] if each.startswith(_REFUSED)]
        return found


def _function(line: str) -> _Function:
    """Read the line that begins a function. The same in every LLVM, and no LLVM has to read it again."""
    words = _split(line, " ")
    place = next(place for place, word in enumerate(words) if word.startswith("@"))
    quoted, plain, parameters = re.fullmatch(r'@(?:"(.*?)"|([^(]*))\((.*)\)', words[place]).groups()  # type: ignore[union-attr]
    return _Function(quoted or plain, words[:place], [_split(each, " ") for each in _split(parameters, ",")])


def _split(text: str, between: str) -> list[str]:
    """Split a text of LLVM IR, but not in brackets and quotes."""
    parts, depth = [""], 0
    for piece in re.findall(r'"[^"]*"|.', text):
        depth += (piece in "([{<") - (piece in ")]}>")
        if piece == between and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts if part.strip()]


def _not_callable(entry: str, problem: str) -> OptctxError:
    return OptctxError(f"cannot call {shown(entry)}: {problem}")


# In a child


def read_harness(_: object, file: str) -> Harness:
    """What a harness says. Raises OptctxError for a file that is none."""
    told = run_harness(file)
    tolerance = told.get("tolerance", 0.0)
    try:
        relative, absolute = tolerance if isinstance(tolerance, tuple) else (tolerance, 0.0)
        own = {"file": file, "gives": "arguments" in told, "relative": relative, "absolute": absolute}
        return convert({**told, **own}, Harness)
    except ValueError as error:  # msgspec's, or of a tuple of another length
        raise unusable(file, str(error)) from None


def run_harness(file: str) -> dict[str, Any]:
    """Run a harness; return its names. Raises OptctxError for what it raises."""
    return dict(_told(file, lambda: runpy.run_path(file, run_name="harness")))


def arguments_of(kernel: Kernel) -> list[Any]:
    """The arguments of one call. Raises OptctxError if they are not as many as the function takes."""
    file = kernel.harness.file
    if not kernel.harness.gives:
        return []
    told = run_harness(file)
    given: list[Any] = _told(file, lambda: list(told["arguments"]()))
    if len(given) != len(kernel.parameters):
        takes = counted(len(kernel.parameters), "argument")
        raise unusable(file, f"{kernel.signature} takes {takes}, and `arguments()` gives {len(given)}")
    return given


def _told(file: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (Exception, SystemExit) as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
        line = error.lineno if isinstance(error, SyntaxError) else next(reversed(lines), None)
        where = f" in line {line}" if line else ""
        raise unusable(file, f"it raises {type(error).__name__}{where}: {error}") from None


def unusable(file: str, problem: str) -> OptctxError:
    """Say what is wrong with a harness."""
    return OptctxError(f"cannot use the harness {shown(file)}: {problem}")
