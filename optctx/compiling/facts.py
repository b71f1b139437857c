"""What is known of an LLVM and its options, as plain data that JSON keeps. A door of the core, for tools."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from optctx.context.context import OptionContext
from optctx.engine.attach import attach
from optctx.errors import OptctxError, clipped
from optctx.image.abi import INTEGER_RANGES
from optctx.image.loaded import Image
from optctx.values.args import process_args
from optctx.values.read_values import Value
from optctx.values.read_values import value_text as text
from optctx.values.registry import Option, Registry, find
from optctx.values.trust import TUNING

__all__ = [
    "INTEGER_RANGES",
    "Facts",
    "OptionFacts",
    "Plain",
    "Value",
    "arguments",
    "build_id",
    "facts",
    "load_facts",
    "resolve",
    "text",
    "trusted",
]

Plain = bool | int | float | str | list[bool | int | float | str | None] | None
"""A value of an option. A float without a number is a text, such as "inf"."""


class OptionFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One option of a library.

    `alias_of`: the option that this name stands for; all else is that option's then. The other fields are as
    in `optctx.Option`. `value`: process-wide, at that moment.
    """

    name: str
    type: str
    default: Plain
    value: Plain
    help: str
    choices: dict[str, str]
    alias_of: str
    aliases: tuple[str, ...]
    categories: tuple[str, ...]
    hidden: str
    storage: str
    scope: str
    reason: str
    trust: str
    trusted_values: str
    trust_reason: str
    read_by: tuple[str, ...]


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An LLVM library and its options, in order of name.

    `library`: name of its file. `build_id`: of the library. `llvm`: its version.
    `llvmlite`: the release that it is part of, or empty.
    """

    format: Literal["optctx options 2"] = "optctx options 2"
    library: str
    build_id: str
    llvm: str
    llvmlite: str
    options: tuple[OptionFacts, ...]

    @property
    def title(self) -> str:
        """The library on one line."""
        release = f" of llvmlite {self.llvmlite}" if self.llvmlite else ""
        return f"{self.library}, LLVM {self.llvm}{release}, build id {self.build_id or 'unknown'}"

    def only(self, keep: Callable[[OptionFacts], bool]) -> Facts:
        """The same with some of the options."""
        return msgspec.structs.replace(self, options=tuple(filter(keep, self.options)))

    def __repr__(self) -> str:
        return f"<Facts of {len(self.options):,} options, {self.title}>"


def facts(image: Image | None = None, llvm: str = "") -> Facts:
    """Take what is known of an LLVM, by default llvmlite's, and every option of it. `llvm`: its version.

    Attaches at first use and changes nothing else. The same library gives the same facts, but for the values
    at that moment. Raises UnsupportedImageError if the process has no LLVM, or its layout does not check out.
    """
    release = ""
    if image is None:
        import llvmlite
        from llvmlite import binding

        llvm, release = ".".join(map(str, binding.llvm_version_info)), llvmlite.__version__
    engine = attach(image)
    return Facts(
        library=os.path.basename(engine.image.path),
        build_id=engine.image.build_id,
        llvm=llvm,
        llvmlite=release,
        options=tuple(
            _facts(each, engine.resolve(engine.options[name]).name) for name, each in Registry(engine).items()
        ),
    )


def _facts(option: Option, target: str) -> OptionFacts:
    names = "name type aliases categories hidden storage scope trust trusted_values trust_reason read_by"
    return OptionFacts(
        default=_plain(option.default),
        value=_plain(option.value),
        help=_line(option.help),
        choices={name: _line(help) for name, help in option.choices.items()},
        alias_of="" if target == option.name else target,
        reason=re.sub(r" at 0x[0-9a-f]+", "", option.reason),  # addresses differ between processes
        **{name: getattr(option, name) for name in names.split()},
    )


def _plain(value: Value) -> Plain:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _line(text: str) -> str:
    return " ".join(text.split())


def load_facts(data: bytes, where: str) -> Facts:
    """Read facts that were kept as JSON. `where`: names the source in errors.

    Raises OptctxError if it is something else.
    """
    try:
        return msgspec.json.decode(data, type=Facts)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise OptctxError(
            f"cannot use {where} as LLVM's options: {clipped(str(error))}; `optctx options --format json` "
            "writes such a file"
        ) from None


def build_id(image: Image | None = None) -> str:
    """The build id of an LLVM, by default llvmlite's. Attaches at first use. Raises UnsupportedImageError."""
    return attach(image).image.build_id


def resolve(name: str, image: Image | None = None) -> str:
    """The name of the option for which a name stands: its own, or that of which it is an alias.

    A leading "-" is left out. Raises UnknownOptionError for the name of no option.
    """
    engine = attach(image)
    return engine.resolve(find(engine, name.lstrip("-") or name)).name


def arguments(words: Iterable[str] | str, image: Image | None = None) -> tuple[str, ...]:
    """The arguments as LLVM prints them, for a process of its own: options that no context can set, too.

    Raises OptctxError for an option or a value that this LLVM does not have. Attaches at first use.
    """
    return tuple(process_args(attach(image), words))


def trusted(name: str, text: str, image: Image | None = None) -> bool:
    """Whether LLVM takes this value of an option, and a module or file of unknown origin could set it.

    LLVM is known to survive such values. Raises UnknownOptionError for the name of no option.
    """
    engine = attach(image)
    option = engine.resolve(find(engine, name))
    try:
        TUNING.check(option, name)
        TUNING.check_value(option, name, OptionContext({name: text}, image=image)[name])
    except OptctxError:
        return False
    return True
