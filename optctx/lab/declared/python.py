"""Declared options as a Python module: a dataclass for each library of LLVM, and one of all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from optctx.lab.declared.model import DeclaredOption, by_library
from optctx.values.read_values import value_text

__all__ = ["as_python"]

_HEAD = '''\
"""{title}

Every field is None at first: the option is not given. Make a context of what is given:

    from optctx import OptionContext
    with OptionContext.from_options({first}(...)):
        ...

`optctx export --format python` made this module. It needs nothing but the standard library.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

# ruff: noqa

'''
_CLASS = '''\
@dataclass(frozen=True)
class {name}:
    """{help}"""

'''
_SCALARS = {
    "bool": "bool",
    "boolOrDefault": "bool",
    "int": "int",
    "uint": "int",
    "int64": "int",
    "uint64": "int",
    "float": "float",
    "double": "float",
    "char": "str",
    "string": "str",
}
_WIDTH = 100  # characters of a line of help


def as_python(options: Iterable[DeclaredOption], title: str) -> str:
    """The text of a module. `title`: the first line of its documentation.

    Passes mypy's strict mode, and changes nothing when it is imported.
    """
    libraries = by_library(options)
    names = {library: _class_name(library) for library in libraries}
    first = next(iter(names.values()), "Options")
    parts = [_HEAD.format(title=_safe(title), first=first)]
    for library, declared in libraries.items():
        about = (
            f"Options of LLVM's library {library}."
            if library != "unknown"
            else "Options of no known library."
        )
        parts.append(_CLASS.format(name=names[library], help=about))
        parts.append("".join(map(_field, declared)))
        parts.append("\n\n")
    parts.append(_CLASS.format(name="Options", help="Every option, by library."))
    for library, name in names.items():
        member = f"{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', library).lower()}_options"
        parts.append(f"    {member}: {name} = field(default_factory={name})\n")
    return "".join(parts)


def _class_name(library: str) -> str:
    return f"{library[:1].upper()}{library[1:]}Options"


def _field(option: DeclaredOption) -> str:
    metadata = f'metadata={{"option": {_literal(option.name)}}}'
    text = "\n".join(f"    {line}" if line else "" for line in _documentation(option)).lstrip()
    return (
        f"    {option.identifier}: {_type(option)} | None = field(default=None, {metadata})\n"
        f'    """{text}"""\n'
    )


def _type(option: DeclaredOption) -> str:
    names = ", ".join(map(_literal, option.choices))
    if option.type in ("list", "bits", "set"):
        element = f"Literal[{names}]" if names else _SCALARS.get(option.element, "str")
        return f"Iterable[{element}]"
    if option.type == "enum" and names:
        return f"Literal[{names}]"
    return _SCALARS.get(option.type, "str")


def _documentation(option: DeclaredOption) -> Iterator[str]:
    text = _safe(option.help) or option.name
    yield from _wrapped(text if text.endswith(".") else f"{text}.")
    if option.default is not None:
        yield from ("", f"Default: {_safe(value_text(option.default))}.")
    described = [(name, text) for name, (text, _) in option.choices.items() if text]
    if described:
        yield ""
        for name, words in described:
            yield from _wrapped(f"- {_safe(name)}: {_safe(words)}")
    if option.scope != "thread":
        why = option.reason or "no code of this library reads it"
        note = "Only for the whole process" if option.scope == "process" else "Without effect"
        yield ""
        yield from _wrapped(f"{note}: {_safe(why)}.")


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False) or [""]


def _literal(text: str) -> str:
    """A string literal with double quotes."""
    return '"' + repr(f"'{text}")[2:-1].replace('"', '\\"') + '"'


def _safe(text: str) -> str:
    """Text that can stand inside a documentation string, at its end as well."""
    escaped = text.replace("\\", "\\\\").replace('"', "'")
    return "".join(character if character.isprintable() else " " for character in escaped)
