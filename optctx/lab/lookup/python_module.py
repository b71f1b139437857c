"""LLVM's options as a Python module: a dataclass for each library of LLVM, and one of all of them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator

from optctx.facts import UNKNOWN, Facts, OptionFacts, text

_HEAD = '''\
"""{title}

Every field is None at first: the option is not given. Make a context of what is given:

    from optctx import OptionContext
    with OptionContext.from_options({first}(...)):
        ...

`optctx options --format python` made this module. It needs nothing but the standard library.
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


def as_python(facts: Facts) -> str:
    """The text of a module. Aliases are left out.

    Passes mypy's strict mode, and changes nothing when it is imported.
    """
    options = [option for option in facts.options if not option.alias_of]
    names, libraries = identifiers(options), by_library(options)
    classes = {library: _class_name(library) for library in libraries}
    first = next(iter(classes.values()), "Options")
    parts = [_HEAD.format(title=_safe(f"LLVM's options, {facts.title}."), first=first)]
    for library, own in libraries.items():
        about = f"Options of LLVM's library {_safe(library)}."
        if library == UNKNOWN:
            about = "Options of no known library."
        parts.append(_CLASS.format(name=classes[library], help=about))
        parts += [_field(names[option.name], option) for option in own]
        parts.append("\n\n")
    parts.append(_CLASS.format(name="Options", help="Every option, by library."))
    for library, name in classes.items():
        member = f"{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', library).lower()}_options"
        parts.append(f"    {member}: {name} = field(default_factory={name})\n")
    return "".join(parts)


def by_library(options: Iterable[OptionFacts]) -> dict[str, list[OptionFacts]]:
    """Library -> its options, libraries in order of name, "unknown" last."""
    found: dict[str, list[OptionFacts]] = {}
    for option in options:
        found.setdefault(option.library, []).append(option)
    return {name: found[name] for name in sorted(found, key=lambda name: (name == UNKNOWN, name))}


def identifiers(options: Iterable[OptionFacts]) -> dict[str, str]:
    """Name of an option -> a name for a member of a class, unique among all."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for option in options:
        word = re.sub(r"\W", "_", option.name, flags=re.ASCII)
        if not word or word[0].isdigit():
            word = f"_{word}"
        while keyword.iskeyword(word) or word in taken:
            word += "_"
        taken.add(word)
        found[option.name] = word
    return found


def _class_name(library: str) -> str:
    return f"{library[:1].upper()}{library[1:]}Options"


def _field(name: str, option: OptionFacts) -> str:
    metadata = f'metadata={{"option": {_literal(option.name)}}}'
    words = "\n".join(f"    {line}" if line else "" for line in _documentation(option)).lstrip()
    return f'    {name}: {_type(option)} | None = field(default=None, {metadata})\n    """{words}"""\n'


def _type(option: OptionFacts) -> str:
    names = ", ".join(map(_literal, option.choices))
    if option.type in ("list", "bits", "set"):
        element = f"Literal[{names}]" if names else _SCALARS.get(option.element, "str")
        return f"Iterable[{element}]"
    if option.type == "enum" and names:
        return f"Literal[{names}]"
    return _SCALARS.get(option.type, "str")


def _documentation(option: OptionFacts) -> Iterator[str]:
    words = _safe(option.help) or _safe(option.name)
    yield from _wrapped(words if words.endswith(".") else f"{words}.")
    if option.default is not None:
        yield from ("", f"Default: {_safe(text(option.default))}.")
    described = [(name, choice.help) for name, choice in option.choices.items() if choice.help]
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
