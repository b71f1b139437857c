"""What is known of an LLVM library and its options, as plain data that JSON keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec

from optctx.wording import html_table

Plain = bool | int | float | str | list[bool | int | float | str | None] | None
"""A value of an option. A float without a number is a text, such as "inf"."""

_Text = Annotated[str, msgspec.Meta(max_length=1 << 16)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
_Names = Annotated[tuple[_Text, ...], msgspec.Meta(max_length=1 << 12)]


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Decoded strictly: what comes from a file has these fields and no others."""


class Choice(_Record, frozen=True):
    """A choice of an enumeration. `number`: what LLVM stores for it; None for a function."""

    help: _Text
    number: int | None = None


class Reader(_Record, frozen=True):
    """A function that refers to an option's storage, and how many of its instructions do what.

    `function`: demangled. `library`: of LLVM, or "unknown". `addresses`: instructions that take an address in
    the storage, by which later code can read and write. `occurrences` and `positions`: of the loads, those of
    how often and where the option was given. `copy`: these instructions refer to LLVM's own copy of the
    value, or to a table of pointers to the option.
    """

    function: _Text
    library: _Text
    loads: _Count = 0
    stores: _Count = 0
    addresses: _Count = 0
    occurrences: _Count = 0
    positions: _Count = 0
    copy: bool = False


class OptionFacts(_Record, frozen=True, kw_only=True):
    """One option of a library.

    `type`, `scope`, `reason`, `trust`, `trusted_values`, `trust_reason`, `hidden` and `storage`: as in
    `optctx.Option`. `element`: the type of a list's elements. `value`: process-wide, at that moment.
    `aliases`: its other names. `alias_of`: the option that this name stands for; all else is that option's
    then. `file` and `library`: where it is defined; empty and "unknown" where that does not follow.
    `copied_once`: LLVM copies the value once, for the whole process. `callback`: setting the option runs a
    function. `readers`: run-time code only; registration and static initialisers are left out. None where
    that was not asked for, and for an option on the heap, to which instructions refer through pointers.
    """

    name: _Text
    type: _Text
    default: Plain
    value: Plain
    help: _Text
    choices: dict[_Text, Choice]
    alias_of: _Text
    aliases: _Names
    categories: _Names
    library: _Text
    file: _Text
    element: _Text
    hidden: _Text
    storage: _Text
    scope: _Text
    reason: _Text
    trust: _Text
    trusted_values: _Text
    trust_reason: _Text
    callback: bool
    copied_once: bool
    readers: Annotated[tuple[Reader, ...], msgspec.Meta(max_length=1 << 16)] | None

    @property
    def read_by(self) -> tuple[str, ...]:
        """The functions that refer to it, each once."""
        return tuple(dict.fromkeys(reader.function for reader in self.readers or ()))

    def sum(self, what: str) -> int:
        """Instructions that refer to its own storage: "loads", "stores", "addresses", "occurrences" or
        "positions".
        """
        return sum(getattr(reader, what) for reader in self.readers or () if not reader.copy)

    @property
    def never_read(self) -> bool:
        """Whether no run-time code refers to it. False for an alias, and where readers are not known."""
        return self.readers == () and not self.alias_of


class Facts(_Record, frozen=True, kw_only=True):
    """An LLVM library and its options, in order of name.

    `library`: name of its file. `build_id`: of the library. `llvm`: the version that llvmlite gives, empty
    for another library. `llvmlite`: the release, likewise.
    """

    format: Literal["optctx options 1"] = "optctx options 1"
    library: _Text
    build_id: _Text
    llvm: _Text
    llvmlite: _Text
    options: Annotated[tuple[OptionFacts, ...], msgspec.Meta(max_length=1 << 17)]

    @property
    def title(self) -> str:
        """The library on one line."""
        release = f", LLVM {self.llvm} of llvmlite {self.llvmlite}" if self.llvm else ""
        return f"{self.library}{release}, build id {self.build_id or 'unknown'}"

    def only(self, keep: Callable[[OptionFacts], bool]) -> Facts:
        """The same with some of the options."""
        return msgspec.structs.replace(self, options=tuple(filter(keep, self.options)))

    def _repr_html_(self) -> str:
        headings = ("option", "type", "default", "scope", "help")
        rows = ((each.name, each.type, str(each.default), each.scope, each.help) for each in self.options)
        return html_table(self.title, headings, rows, len(self.options))

    def __repr__(self) -> str:
        return f"<Facts of {len(self.options):,} options, {self.title}>"
