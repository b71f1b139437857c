"""The options of an image as LLVM has them registered now: its own, and those of other code (late options).

Nothing tells when an option is registered or removed. LLVM's map is looked at when the answer could depend on
it: for an unknown name, for an option that can be removed, and where all options are listed. Entering a scope
never does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from optctx._native import LateOption, LateOptions, Space, inside
from optctx.engine.cpp_lookups import publish_late, publish_options
from optctx.errors import UnknownOptionError, shown
from optctx.image.late_options import read_late
from optctx.image.memory import checking
from optctx.image.options import RegisteredOption
from optctx.image.survey import Survey
from optctx.locks import Rank, lock_held_by_fork
from optctx.plan.plan import Plan

__all__ = ["Registered", "gone"]

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
        image, now = self._survey.image, self._now
        with checking(image.path):
            found = self.native.find()
        if found == now.found:
            return
        late = read_late(image, self._survey.registry, found, now.late)
        by_name = {name: option for option in late for name in option.names} | self._own
        by_address = {option.address: option for option in late} | self._plan.options
        removed = now.removed.union(each.name for each in now.found) - by_name.keys()
        if self._published:
            publish_late(self._index, late, by_address)
        self._now = _State(found, late, by_name, by_address, _aliases(by_address), removed)

    def _publish(self, space: Space) -> None:
        publish_options(self._plan, space, self._survey.image, self.native)
        self._published = True
        publish_late(self._index, self._now.late, self._now.by_address)


def _aliases(options: Mapping[int, RegisteredOption]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for option in options.values():
        if option.alias_of:
            found.setdefault(option.alias_of, []).extend(option.names)
    return found


def gone(name: str) -> UnknownOptionError:
    """Make the error for an option that was registered late and has been removed since."""
    return UnknownOptionError(
        f"the option {shown(name)} is no longer registered: what registered it has removed it, or was "
        "unloaded; leave it out, or load the library again",
        name,
    )
