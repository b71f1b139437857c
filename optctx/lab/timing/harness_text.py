"""A harness to fill in, made from the signature of a function, and the harness of a file that is measured."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from optctx.compiling import FreshProcess, Job, check_readable
from optctx.errors import OptctxError, shown
from optctx.lab.timing.harness import (
    KINDS,
    Harness,
    Kind,
    callable_function,
    check_call,
    kinds_of,
    opened_module,
)
from optctx.lab.timing.measuring import Measuring
from optctx.toml import quoted
from optctx.wording import printable

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, ValueRef

_LENGTH = 1000  # elements of an array, and the value of an integer, until they are filled in
# What clang writes for a parameter goes through the stack, where nothing shows how it is used.
_ANALYSIS = "function(sroa),cgscc(inline,function-attrs),function(sroa)"
_NAME = r'%(?:[-\w.$]+|"[^"]*")'
_ACCESS = (
    r"(?:load|getelementptr)(?: inbounds| nuw| nusw| volatile)* (?P<type>[^,]+), ptr {}",
    r"store (?P<type>\S+) \S+, ptr {}",
)
_ELEMENT = re.compile(r"(?:(?:\[|<)\d+ x )*(\w+)")
# A stranger's function may have any size.
_LOOKED_AT = 1 << 18  # characters of a function
_POINTERS = 64
_DEEP = 3  # calls that a pointer is followed through
_READ_ONLY = {"readonly", "readnone"}
_BYTES = re.compile(r"dereferenceable(?:_or_null)?\((\d+)\)")


class NoHarnessError(OptctxError):
    """No harness says what the function takes. `text` is one to fill in, for the file `path`."""

    def __init__(self, message: str, text: str, path: str) -> None:
        super().__init__(message)
        self.text = text
        self.path = path


def find_harness(measuring: Measuring, file: str, job: Job) -> Harness:
    """The harness by which a module is measured: that in a file, or of a function without arguments.

    `measuring` names the entry and a harness; without one it is looked for beside `file`, with the ending
    .toml. A module with one function that can be called needs no name of an entry. Raises NoHarnessError if
    the function takes arguments and no harness says which, and OptctxError for what does not fit the module.
    LLVM reads the module in this process, after a fresh one, because LLVM may crash on it.
    """
    path = measuring.harness or harness_beside(file)
    if path:
        harness = Harness.from_toml(path)
        if measuring.entry:
            harness = msgspec.structs.replace(harness, entry=measuring.entry)
        harness.check(job.ir)
        return harness
    check_readable(job.ir)
    with opened_module(job.ir) as module:
        entry = measuring.entry or _only_function(module)
        function = callable_function(entry, module)
        if not list(function.arguments):
            returned = kinds_of(str(function.global_value_type.get_function_return()))
            harness = Harness(entry, returns=next(iter(returned), None))
            check_call(harness, function)
            return harness
    where = harness_place(file) or "a file for --harness"
    text = harness_of(job.ir, entry)
    raise NoHarnessError(
        f"cannot call {shown(entry)}: no harness says what to pass; fill in the printed one, and save "
        f"it as {where}",
        text,
        where,
    )


def harness_place(file: str) -> str:
    """The path beside a file where a harness for it is looked for; "" for standard input."""
    return "" if file == "-" else f"{os.path.splitext(file)[0]}.toml"


def harness_beside(file: str) -> str:
    """The harness beside a file, or "". An empty one is what a shell has made for the harness to fill in."""
    place = harness_place(file)
    return place if os.path.exists(place) and os.path.getsize(place) > 0 else ""


def harness_of(ir: str | bytes, entry: str) -> str:
    """A harness to fill in for a function: TOML, with a comment where a number has to be chosen.

    It is valid as it is, with 1000 elements for every array whose size the function does not tell, and can be
    read by `Harness.loads`. How arrays are used is read off the function, after LLVM has put its variables
    into registers in a fresh process. Raises OptctxError for a function that a harness cannot describe, and
    for a module that LLVM crashes on.
    """
    check_readable(ir)
    with opened_module(ir) as module:
        callable_function(entry, module)
    with FreshProcess() as fresh:
        found = fresh.compile(Job(ir, _ANALYSIS, emit="ir"))
    with opened_module(ir if found.ir is None else found.ir) as module:
        function = callable_function(entry, module)
        functions = {each.name: each for each in module.functions if not each.is_declaration}
        lines = [f"entry = {quoted(entry)}"]
        if returned := kinds_of(str(function.global_value_type.get_function_return())):
            other = f'  # or "{returned[1]}"' if len(returned) > 1 else ""
            lines.append(f"returns = {quoted(returned[0])}{other}")
        for place, parameter in enumerate(function.arguments):
            lines += ["", f"[[arguments]]  # {place + 1}: {_declared(parameter)}"]
            number = kinds_of(str(parameter.type))
            lines += (
                _value(parameter, number)
                if number
                else _array(parameter, _element(function, place, functions))
            )
        declared = ", ".join(map(_declared, function.arguments))
        text = "\n".join(
            [f"# What is called: {printable(entry)}({declared}). Correct what is marked.", *lines, ""]
        )
        check_call(Harness.loads(text), function)
    return text


def _only_function(module: ModuleRef) -> str:
    found: list[str] = [
        function.name
        for function in module.functions
        if not function.is_declaration and function.linkage.name not in ("internal", "private")
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
    raise OptctxError(f"cannot tell what to call: name a function with --entry ({names or 'there is none'})")


def _declared(parameter: ValueRef) -> str:
    return printable(f"{parameter.type} {parameter.name or ''}".strip())


def _value(parameter: Any, kinds: list[Kind]) -> list[str]:
    extended = [each for each in parameter.attributes if each in (b"signext", b"zeroext")]
    kind = kinds[-1] if extended == [b"zeroext"] else kinds[0]
    number = KINDS[kind]
    value = "true" if kind == "bool" else "1.0" if number.is_float else str(min(_LENGTH, number.high))
    other = "" if extended or len(kinds) == 1 else f'  # or "{kinds[1]}"'
    return [f"value = {value}  # fill in", f"type = {quoted(kind)}{other}"]


def _array(parameter: Any, element: Kind | None) -> list[str]:
    attributes = [attribute.decode() for attribute in parameter.attributes]
    size = next((int(found[1]) for found in map(_BYTES.fullmatch, attributes) if found), 0)
    least = -(-size // KINDS[element or "i8"].size)
    return [
        f"array = {quoted(element or 'f64')}{'' if element else '  # fill in: nothing shows its type'}",
        f"shape = [{least or _LENGTH}]  # fill in{f': {least} at least' if least else ''}",
        f"output = {'true' if _READ_ONLY.isdisjoint(attributes) else 'false'}  # whether it is compared",
    ]


def _element(function: ValueRef, place: int, functions: Mapping[str, ValueRef], deep: int = 0) -> Kind | None:
    """The type of number that a function reads or writes through a pointer, as far as its text says."""
    body, parameter = str(function)[:_LOOKED_AT], str(list(function.arguments)[place])
    pointers, found = re.findall(f"{_NAME}$", parameter), list[str]()
    for pointer in itertools.islice(pointers, _POINTERS):
        end = rf"{re.escape(pointer)}(?=[,\s\])]|$)"
        for pattern in _ACCESS:
            found += re.findall(pattern.format(end), body)
        # Pointers into the same array: by constant or variable offsets, and those of a loop.
        more = re.findall(rf"({_NAME}) = (?:getelementptr|phi|select|freeze)[^\n]*{end}", body)
        pointers += [each for each in dict.fromkeys(more) if each not in pointers]
    for text in found:
        element = _ELEMENT.match(text)
        kinds = kinds_of(element[1]) if element else []
        # Offsets are counted in bytes where i8 stands in a getelementptr.
        if kinds and (kinds[0] != "i8" or set(found) == {"i8"}):
            return kinds[0]
    for name, given in re.findall(r"call [^\n]*@([\w.$]+)\(([^\n]*)\)", body) if deep < _DEEP else ():
        words = [word.rsplit(" ", 1)[-1] for word in given.split(", ")]
        for at, word in enumerate(words if name in functions else []):
            if word in pointers and at < len(list(functions[name].arguments)):
                kind = _element(functions[name], at, functions, deep + 1)
                if kind is not None:
                    return kind
    return None
