"""The options of an image as LLVM has them registered now: its own, and those of other code (late options).

Nothing tells when an option is registered or removed. LLVM's map is looked at when the answer could depend on
it: for an unknown name, for an option that can be removed, and where all options are listed. Entering a scope
never does. Every option's name, type and place are handed to the native side, for C++ code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from optctx._native import (
    NO_SLOT,
    Kind,
    LateOption,
    LateOptions,
    LookupNames,
    Space,
    inside,
    publish_late_lookups,
    publish_lookups,
)
from optctx.errors import UnknownOptionError, shown
from optctx.image.abi import element_size, type_name
from optctx.image.late_options import read_late
from optctx.image.memory import checking
from optctx.image.options import RegisteredOption
from optctx.image.survey import Survey
from optctx.locks import Rank, lock_held_by_fork
from optctx.plan.plan import Plan

_lock = lock_held_by_fork(Rank.REGISTERED)


class _State(NamedTuple):
    """What is known at one moment; replaced as a whole, never changed."""

    found: list[LateOption]
    late: list[RegisteredOption]
    by_name: Mapping[str, RegisteredOption]
    by_address: Mapping[int, RegisteredOption]
    aliases: Mapping[int, list[str]]  # address of an option -> names of the options that stand for it
    removed: frozenset[str]  # names that were registered late


class Registered:
    """`native`: where to look whether an option is still registered."""

    def __init__(self, survey: Survey, plan: Plan, index: int) -> None:
        self._survey = survey
        self._plan = plan
        self._index = index
        self._published = False
        registry = survey.registry
        known = [option.address for option in registry.options]
        self.native = LateOptions(registry.layout, registry.map, known)
        by_name = {name: option for option in plan.options.values() for name in option.names}
        self._own = by_name
        self._now = _State([], [], by_name, plan.options, _aliases(plan.options), frozenset())

    @property
    def by_name(self) -> Mapping[str, RegisteredOption]:
        """The options as of the last `refresh`."""
        return self._now.by_name

    @property
    def by_address(self) -> Mapping[int, RegisteredOption]:
        """The same by address, without literal names."""
        return self._now.by_address

    @property
    def aliases(self) -> Mapping[int, list[str]]:
        """The names of the options that are registered as aliases, by the address of what they stand for."""
        return self._now.aliases

    @property
    def removed(self) -> frozenset[str]:
        """Names of late options that are no longer registered."""
        return self._now.removed

    def refresh(self) -> None:
        """Look at LLVM's map. What was read before stays the same object.

        Raises UnsupportedImageError if other threads do not stop registering options.
        """
        inside(_lock, self._refresh)

    def publish(self, space: Space) -> None:
        """Let C++ code find the options, from now on those that are registered later as well."""
        inside(_lock, self._publish, space)

    def _refresh(self) -> None:
        image, before = self._survey.image, self._now
        with checking(image.path):
            found = self.native.find()
        if found == before.found:
            return
        late = read_late(image, self._survey.registry, found, before.late)
        by_name = {name: option for option in late for name in option.names} | self._own
        by_address = {option.address: option for option in late} | self._plan.options
        removed = before.removed.union(each.name for each in before.found) - by_name.keys()
        now = _State(found, late, by_name, by_address, _aliases(by_address), removed)
        if self._published:
            self._publish_late(now)
        self._now = now

    def _publish(self, space: Space) -> None:
        lookups = LookupNames()
        options, aliases = self._plan.options, _aliases(self._plan.options)
        forms: dict[int, _Form] = {}
        for option in options.values():
            if not option.alias_of:
                names = [*option.names, *aliases.get(option.address, ())]
                lookups.add(names, *_described(option, forms))
        publish_lookups(space, self._survey.image, self.native, lookups)
        self._published = True
        self._publish_late(self._now)

    def _publish_late(self, now: _State) -> None:
        """Publish the late options, in place of earlier ones."""
        lookups = LookupNames()
        forms: dict[int, _Form] = {}
        for option in now.late:
            assert option.late is not None
            target = resolve(option, now.by_address)
            lookups.add(list(option.names), *_described(target, forms), option.late)
        publish_late_lookups(self._index, lookups)


def resolve(option: RegisteredOption, by_address: Mapping[int, RegisteredOption]) -> RegisteredOption:
    """Return the option that an alias stands for, or the option itself."""
    while option.alias_of:
        option = by_address[option.alias_of]
    return option


def _aliases(options: Mapping[int, RegisteredOption]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for option in options.values():
        if option.alias_of:
            found.setdefault(resolve(option, options).address, []).extend(option.names)
    return found


def gone(name: str) -> UnknownOptionError:
    """Make the error for an option that was registered late and has been removed since."""
    return UnknownOptionError(
        f"the option {shown(name)} is no longer registered: what registered it has removed it, or was "
        "unloaded; leave it out, or load the library again",
        name,
    )


_Form = tuple[str, Kind, Kind, int]
_Place = tuple[int, int, int]
_HowSet = tuple[int, str, int]
_Described = tuple[_Form, _Place, _Place, _HowSet, int, list[str], list[int]]


def _described(option: RegisteredOption, forms: dict[int, _Form]) -> _Described:
    """Return what LookupNames.add takes after the names."""
    form = forms.get(id(option.type))  # the type itself has no cheap hash
    if form is None:
        kind, element = option.type.kind, option.type.element
        form = forms[id(option.type)] = type_name(kind), kind, element, element_size(element)
    region, offset = option.place
    value = (NO_SLOT if option.value_slot is None else option.value_slot, offset, region + offset)
    own = (NO_SLOT if option.slot is None else option.slot, 0, option.address)
    names, stored, enum_size = option.stored_choices()
    how_set = len(option.names), option.reason, option.flag_default_index
    return form, value, own, how_set, enum_size, names, stored
