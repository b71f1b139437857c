"""Reads options that are not the image's own: those of other libraries, and those that are registered late.

What registers them can be unloaded, and has any layout. So an option that does not check out is no error: it
is listed with a type that is not known.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from optctx._native import Kind, LateOption, MisfitError, option_at, symbol_near
from optctx.image.abi import OptionType
from optctx.image.facts import mangled_names
from optctx.image.loaded import Image
from optctx.image.memory import WORD, load_words
from optctx.image.options import RegisteredOption
from optctx.image.registry_reader import (
    ImageRegistry,
    Vtable,
    Vtables,
    has_callback,
    is_placeholder,
    read_option,
)

_MOST_FUNCTIONS = 32  # of a table; those of options and parsers have 10 to 14
_HAVE_DEFAULT = frozenset(Kind) - {Kind.list, Kind.bits, Kind.set, Kind.other}
_LOST_ALIAS = "the alias leads to no option that is registered"


class _AnyVtables(Vtables):
    """Vtables of the image, and those that another library exports."""

    def _read(self, address: int) -> Vtable | None:
        found = super()._read(address)
        if found is not None or self._image.contains(address):
            return found
        name, _ = symbol_near(address)
        if not name.startswith(mangled_names.VTABLE):
            return None
        slots: dict[str, int] = {}
        for index in range(_MOST_FUNCTIONS):
            try:
                (word,) = load_words(address + index * WORD, 1, name)
            except MisfitError:
                break
            function = self._name_of(word)
            if not function:
                break  # the end of the table
            slots.update((part, index) for part in mangled_names.VIRTUAL_FUNCTIONS if part in function)
        return Vtable(name, slots)

    def _name_of(self, address: int) -> str:
        if self._image.contains(address):
            function = self._image.function_at(address)
            return "" if function is None else function.name
        return symbol_near(address)[0]


def read_late(
    image: Image, registry: ImageRegistry, found: Iterable[LateOption], known: Iterable[RegisteredOption]
) -> list[RegisteredOption]:
    """Return the options that are behind these entries of the map. No context can set one for one thread.

    `known`: late options that were read before; those that are still there are returned again.
    """
    entries: dict[tuple[int, int], list[LateOption]] = {}
    for each in found:
        if _library(image, each.address) or not is_placeholder(each.address):
            entries.setdefault((each.address, each.vtable), []).append(each)
    before = {
        (option.late.address, option.late.vtable, option.names): option for option in known if option.late
    }
    options = []
    for (address, vtable), own in entries.items():
        names = tuple(each.name for each in own)
        option = before.get((address, vtable, names))
        options.append(_read(image, registry, names, own[0]) if option is None else option)
    targets = {option.address: option for option in (*registry.options, *options)}
    for option in options:
        _settle_alias(option, targets)
    image.release_pages()
    return options


def _read(
    image: Image, registry: ImageRegistry, names: tuple[str, ...], late: LateOption
) -> RegisteredOption:
    vtables = _AnyVtables(image)
    try:
        option = read_option(image, vtables, registry.value_offset, names, late.address)
        if not option.type.supported:
            raise MisfitError(f"the type of the option {option.name} has another layout")
        _check_default(vtables, option)
        if option.size is None:
            _measure(image, registry, option, late.vtable)
        option.stored_choices()  # while it is there
    except (MisfitError, RuntimeError):
        unknown = OptionType(Kind.other, supported=False)
        option = RegisteredOption(names, late.address, None, unknown, registry.value_offset)
    option.late = late
    option.begin_plan()
    option.refuse(_reason(image, late.address))
    return option


def _check_default(vtables: Vtables, option: RegisteredOption) -> None:
    """Check that the value is where this image has it: before its default. Raises MisfitError."""
    if option.type.kind not in _HAVE_DEFAULT:
        return
    (word,) = load_words(option.address + option.value_offset + WORD, 1, "the default of an option")
    vtable = vtables.get(word)
    if vtable is None or not vtable.name.startswith(mangled_names.OPTION_VALUE):
        raise MisfitError(f"the option {option.name} has another layout")


def _measure(image: Image, registry: ImageRegistry, option: RegisteredOption, vtable: int) -> None:
    """Find the size, which is that of the image's own options of the same class, and what lies at its end."""
    sizes = (each.size for each in registry.options if each.size and option_at(each.address).vtable == vtable)
    option.heap_size = next(sizes, None)
    if option.heap_size is not None:
        option.callback = has_callback(
            image, load_words(option.address, option.heap_size // WORD, "an option")
        )


def _settle_alias(option: RegisteredOption, targets: Mapping[int, RegisteredOption]) -> None:
    """Make an alias that leads nowhere an option of its own, without a value."""
    at, steps = option, 0
    while at.alias_of and steps <= len(targets):
        following = targets.get(at.alias_of)
        if following is None:
            break
        at, steps = following, steps + 1
    if at.alias_of:
        option.alias_of = 0
        option.type = OptionType(Kind.other, supported=False)
        option.reason = _LOST_ALIAS


def _reason(image: Image, address: int) -> str:
    if image.contains(address):
        return "it was registered after optctx attached, too late to redirect the code that reads it"
    library = _library(image, address) or "code outside LLVM"
    return f"{library} registered it, and optctx redirects only the reads of LLVM's own code"


def _library(image: Image, address: int) -> str:
    """Name the other library that has an option in its storage, or nothing."""
    return "" if image.contains(address) else os.path.basename(symbol_near(address)[1])
