"""The options of an LLVM library as data that other languages can declare."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass

from optctx._native import Kind
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.facts.origins import UNKNOWN, Origins
from optctx.image.abi import type_name
from optctx.image.options import RegisteredOption
from optctx.values.read_values import Value
from optctx.values.registry import Option

__all__ = ["DeclaredOption", "by_library", "declared_options"]


@dataclass(frozen=True)
class DeclaredOption:
    """An option that LLVM registered, for declaring it elsewhere. Aliases are names of their option.

    `identifier`: the name as a member of a class, unique among all. `library`: of LLVM, or "unknown".
    `type`: as in `Option.type`; `element`: of a list, else empty. `default`: the registered value, None where
    it has none. `choices`: name -> (LLVM's description, the number that LLVM stores; None for a function).
    `scope` and `reason`: as in `Option`.
    """

    name: str
    identifier: str
    library: str
    type: str
    element: str
    default: Value
    help: str
    choices: dict[str, tuple[str, int | None]]
    aliases: tuple[str, ...]
    categories: tuple[str, ...]
    scope: str
    reason: str


def declared_options() -> list[DeclaredOption]:
    """Every option of llvmlite's LLVM, in order of name. Attaches at first use.

    Raises UnsupportedImageError if the process has no LLVM that optctx can use.
    """
    engine = attach()
    origins = Origins(engine.image)
    registered = [option for option in engine.plan.options.values() if not option.alias_of]
    registered.sort(key=lambda option: option.name)
    taken: set[str] = set()
    return [_declared(engine, origins, option, _identifier(option.name, taken)) for option in registered]


def by_library(options: Iterable[DeclaredOption]) -> dict[str, list[DeclaredOption]]:
    """Library -> its options, both in order of name, "unknown" last."""
    found: dict[str, list[DeclaredOption]] = {}
    for option in options:
        found.setdefault(option.library, []).append(option)
    return {name: found[name] for name in sorted(found, key=lambda name: (name == UNKNOWN, name))}


def _declared(
    engine: Engine, origins: Origins, registered: RegisteredOption, identifier: str
) -> DeclaredOption:
    option = Option(engine, registered, registered.name)
    symbol = engine.image.object_at(registered.address) if registered.size is not None else None
    kind = registered.type.kind
    return DeclaredOption(
        name=registered.name,
        identifier=identifier,
        library=origins.of_object(symbol).library if symbol is not None else UNKNOWN,
        type=option.type,
        element=type_name(registered.type.element) if kind == Kind.list else "",
        default=option.default,
        help=" ".join(option.help.split()),
        choices=_choices(registered, option),
        aliases=option.aliases,
        categories=option.categories,
        scope=registered.scope,
        reason=re.sub(r" at 0x[0-9a-f]+", "", registered.reason),
    )


def _choices(registered: RegisteredOption, option: Option) -> dict[str, tuple[str, int | None]]:
    helps = option.choices
    if registered.type.registry_parser:
        return {name: (" ".join(text.split()), None) for name, text in helps.items()}
    names, stored, _ = registered.stored_choices()
    numbers = dict(zip(names, stored, strict=True))
    return {name: (" ".join(text.split()), numbers.get(name)) for name, text in helps.items()}


def _identifier(name: str, taken: set[str]) -> str:
    """A name for Python and for C++."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not word or word[0].isdigit():
        word = f"_{word}"
    if keyword.iskeyword(word) or word in _CPP_KEYWORDS:
        word += "_"
    while word in taken:
        word += "_"
    taken.add(word)
    return word


_CPP_KEYWORDS = frozenset(
    [
        "auto",
        "bool",
        "case",
        "catch",
        "char",
        "const",
        "default",
        "delete",
        "do",
        "double",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "friend",
        "goto",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "operator",
        "private",
        "protected",
        "public",
        "register",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "typedef",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
    ]
)
