"""Declared options as TableGen records, in the form of `llvm/Option/LibraryOptions.td` (LLVM 24).

That file declares the members of a struct of options: `BoolField`, `OptionalBoolField`, `EnumField` and
`ValueField`. It has none for lists, bits, classes and choices of functions. These options stay comments,
which say so.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from math import isfinite

from evidence.census.origins import UNKNOWN
from evidence.census.readers import CountedOption
from optctx.compiling.facts import OptionFacts

_HEAD = """\
// {title}
//
// Made by optctx, for llvm-tblgen -gen-opt-parser-defs. The compiled library does not name the enumerators of
// enumerations: members of type int hold their numbers.

include "llvm/Option/LibraryOptions.td"

def {library}Options : OptionsStruct;

"""
_TYPES = {
    "int": "int",
    "uint": "unsigned",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float": "float",
    "double": "double",
    "char": "char",
    "string": "StringRef",
}
_REASONS = {
    "list": "a list has no field",
    "bits": "bits have no field",
    "other": "a class with a parser of its own has no field",
    "enum": "its choices are functions that register themselves",
}


def as_tablegen(library: str, options: Sequence[CountedOption], title: str) -> str:
    """The text of a .td file that declares the options of one library. `title`: for its first line."""
    name = library[:1].upper() + library[1:]
    head = _HEAD.format(title=" ".join(title.split()), library=name)
    members = _identifiers(options)
    return head + "".join(f"{_record(members[option.facts.name], option)}\n" for option in options)


def by_library(options: Iterable[CountedOption]) -> dict[str, list[CountedOption]]:
    """Library -> its options, libraries in order of name, "unknown" last."""
    found: dict[str, list[CountedOption]] = {}
    for option in options:
        found.setdefault(option.library, []).append(option)
    return {name: found[name] for name in sorted(found, key=lambda name: (name == UNKNOWN, name))}


def _identifiers(options: Iterable[CountedOption]) -> dict[str, str]:
    """Name of an option -> a name for a member of a class, unique among all."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for option in options:
        word = re.sub(r"\W", "_", option.facts.name, flags=re.ASCII)
        if not word or word[0].isdigit():
            word = f"_{word}"
        while keyword.iskeyword(word) or word in taken:
            word += "_"
        taken.add(word)
        found[option.facts.name] = word
    return found


def _record(member: str, counted: CountedOption) -> str:
    fields, option = _fields(counted), counted.facts
    if fields is None:
        return f"// {option.name}: {_REASONS[option.type]} in LibraryOptions.td."
    multiclass, arguments = fields
    words = ", ".join([_quoted(option.name), *arguments, _quoted(option.help)])
    return f"defm {member} : {multiclass}<{words}>;"


def _fields(counted: CountedOption) -> tuple[str, list[str]] | None:
    """(multiclass, its arguments between the name and the help), or None where LLVM has no field for it."""
    option, default = counted.facts, counted.facts.default
    if option.type == "bool":
        return "BoolField", [_quoted("true" if default else "false")]
    if option.type == "boolOrDefault":
        return "OptionalBoolField", []
    if option.type == "enum":
        return _enumeration(counted)
    kind = _TYPES.get(option.type)
    return None if kind is None else ("ValueField", [_quoted(kind), _quoted(_number_or_text(option))])


def _enumeration(option: CountedOption) -> tuple[str, list[str]] | None:
    numbers = list(option.numbers.values())
    if not numbers or None in numbers:
        return None
    default = option.numbers.get(str(option.facts.default), 0)
    values = _quoted(",".join(option.numbers))
    enumerators = f"[{', '.join(_quoted(str(number)) for number in numbers)}]"
    return "EnumField", [_quoted("int"), _quoted(str(default)), values, enumerators]


def _number_or_text(option: OptionFacts) -> str:
    """The default as C++."""
    default = option.default
    if option.type == "string":
        return _cpp_text(str(default or ""))
    if option.type == "char":
        return f"{ord(default) if isinstance(default, str) and default else 0}"
    if isinstance(default, float) and not isfinite(default):
        sign = "-" if default < 0 else ""
        return f"{sign}std::numeric_limits<{_TYPES[option.type]}>::infinity()"
    suffix = {"uint64": "ULL", "int64": "LL", "uint": "U"}.get(option.type, "")
    return f"{default or 0}{suffix if default else ''}"


def _cpp_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _quoted(text: str) -> str:
    """A string of TableGen: it knows the escapes of backslash, quotes, tab and newline."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
