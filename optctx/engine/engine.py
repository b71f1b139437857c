"""The engine of an image: its plan in force, as everything above it sees it.

LLVM's option reads are redirected, and every thread reads storage of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from optctx._native import (
    NO_SLOT,
    Kind,
    OsError,
    Setting,
    Space,
    Trampolines,
    Transaction,
    configure_bindings,
    exposed_offset,
    is_attached,
    prepare_recording,
    publish_lookups,
    redirect,
    restore,
    trampolines,
    view_offset,
)
from optctx.arch import CannotDecodeError
from optctx.errors import UnsupportedImageError
from optctx.image.facts.interceptions import BINDING, SHARED_MACHINES
from optctx.image.loaded import Image
from optctx.image.memory import checking
from optctx.image.options import RegisteredOption
from optctx.image.survey import Survey
from optctx.plan.plan import Plan, make_plan
from optctx.plan.references import read_references
from optctx.plan.ways_in import prepare_hooks, setter_tables

_SAID_ELSEWHERE = (BINDING, SHARED_MACHINES)  # by `info()`, of each LLVM


class Engine:
    """An image with its plan, and how contexts reach it. Lives with the process.

    `index`: of the image, by which native code knows it.
    `intercepts`: contexts can follow an LLVMContext or a function, as LLVM starts to work on it;
    `not_intercepted`: what the library lacks for that.
    `shares_machines`: code that a TargetMachine emits has the values in force there, wherever it was made.
    `follows_lljit`: so can what llvmlite's LLJIT makes of a module's text.
    `kept`: what was done with what earlier processes have kept.
    `transaction`: the instructions to redirect, or that are; `hooks`: the functions that optctx stands in
    front of; `setters`: pointers that lead what gives a value to an option to optctx.
    `options`: by name. `aliases`: names of the aliases of an option, by the address of that option.
    """

    def __init__(self, survey: Survey, clock: Clock) -> None:
        """Plan, and prepare trampolines and views. Changes no code yet.

        Raises UnsupportedImageError if the library does not check out, or its code cannot be redirected here.
        """
        self.image = survey.image
        self.index = survey.image.index
        self.survey = survey
        self.seconds: dict[str, float] = {}
        self.kept = ""
        with checking(self.image.path):
            try:
                self.plan = make_plan(survey, read_references(survey))
            except CannotDecodeError as error:
                raise self._cannot_redirect(f"instructions cannot be decoded: {error}") from error
            clock.lap("sites")
            self.options = {name: option for option in self.plan.options.values() for name in option.names}
            self.aliases: dict[int, list[str]] = {}
            for alias in filter(lambda option: option.alias_of, self.plan.options.values()):
                self.aliases.setdefault(self.resolve(alias).address, []).extend(alias.names)
            self.setters = setter_tables(survey, self.index)
            try:
                self._prepare_code(clock)
            except OsError as error:
                raise self._cannot_redirect(str(error)) from error
            except RuntimeError as error:
                raise UnsupportedImageError(f"{self.image.path}: {error}; nothing was changed") from error
            self._prepare_views()
        clock.lap("views")

    def _cannot_redirect(self, why: str) -> UnsupportedImageError:
        return UnsupportedImageError(
            f"could not redirect the option reads of {self.image.path}, nothing was changed: {why}; compile "
            "in processes of their own instead: optctx.compiling.FreshProcess sets the options of each"
        )

    def _prepare_code(self, clock: Clock) -> None:
        """Make the code that runs instead of LLVM's instructions, and in front of its functions."""
        image, index = self.image, self.index
        hooks = self.hooks = prepare_hooks(self.survey, index)
        self.follows_lljit = hooks.begins_llvm_contexts
        self.shares_machines = SHARED_MACHINES not in hooks.unavailable
        self.not_intercepted = hooks.unavailable.get(BINDING, "")
        self.intercepts = not self.not_intercepted
        self.plan.unavailable.update(
            (feature, why) for feature, why in hooks.unavailable.items() if feature not in _SAID_ELSEWHERE
        )
        clock.lap("entrances")
        sites = _trampolines(image, self.plan)
        self.transaction = Transaction([*hooks.calls, *hooks.starts], image.text_begin, image.text_end, sites)
        clock.lap("trampolines")

    def _prepare_views(self) -> None:
        """Make the storage that every thread reads."""
        slots = [self.plan.slots[part.address] for part in self.survey.reporting]
        self.space = Space.make(
            self.index,
            self.plan.regions,
            self.survey.functions.add_occurrence,
            (slots[0], slots[1], slots[2]),
            self.survey.stream_table,
            self.plan.readers,
        )
        if (printing := self.plan.printing) is not None:
            debug, debug_only = (self.plan.slots[option.address] for option in printing.options)
            self.space.scope_debugging(debug, debug_only, printing.types.type_size, printing.types.abi)
        if self.intercepts:
            configure_bindings(self.index, self.survey.functions.work_calls)

    # How contexts reach the image

    @property
    def attached(self) -> bool:
        """Whether contexts reach the image now."""
        return is_attached(self.index)

    def attach(self) -> None:
        """Let contexts reach the image. If that fails, nothing is changed. Raises UnsupportedImageError."""
        try:
            redirect(self.index, self.transaction, self.hooks.tables, self.setters)
        except RuntimeError as error:  # OsError is one
            raise self._cannot_redirect(str(error)) from error

    def detach(self) -> tuple[int, int, int]:
        """Undo `attach` in one step, unless something uses it. Raises RuntimeError with nothing changed.

        Returns how many use it: LLVMContexts that are bound, scopes, blocks that record.
        """
        return restore(self.index, self.transaction, self.hooks.tables, self.setters)

    def prepare_recording(self) -> None:
        """Let recordings that begin from now on detect LLVM's reads. A second call does nothing."""
        prepare_recording(self.space, self.transaction, self.plan.references.sites, self.plan.readers)

    # The options

    def resolve(self, option: RegisteredOption) -> RegisteredOption:
        """Return the option that an alias stands for, or the option itself."""
        while option.alias_of:
            option = self.plan.options[option.alias_of]
        return option

    def publish(self) -> None:
        """Let C++ code find every option by its names: type, place and choices."""
        options = (option for option in self.plan.options.values() if not option.alias_of)
        rows = [_row(option, (*option.names, *self.aliases.get(option.address, ()))) for option in options]
        publish_lookups(self.space, self.image, rows)

    def drifted(self, drift: Setting) -> Iterator[tuple[RegisteredOption, int, int]]:
        """Yield each option that is not as it was registered, and where a drift of the space has it: the
        addresses of the Option and of its value, good as long as the drift lives.
        """
        addresses = drift.addresses
        for slot, address in addresses.items():
            option = self.plan.owners.get(slot)
            if option is not None and option.slot == slot:
                yield option, address, option.value_in(addresses.__getitem__)


class Clock:
    """Seconds from lap to lap, by name."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now


def _trampolines(image: Image, plan: Plan) -> Trampolines:
    """Build the trampolines of all sites."""
    return trampolines(image, plan.references.sites, plan.readers, view_offset(image.index), exposed_offset())


_Row = tuple[tuple[str, ...], int, Kind, int, int, int, int, int, str, int, list[str], list[int], int]


def _row(option: RegisteredOption, names: tuple[str, ...]) -> _Row:
    """Return what publish_lookups takes of each option (native/interface/table.hpp)."""
    region, offset = (option.variable, 0) if option.variable else (option.address, option.value_offset)
    value = NO_SLOT if option.value_slot is None else option.value_slot, offset, region + offset
    slot = NO_SLOT if option.slot is None else option.slot
    own = slot, option.address, option.reason, option.flag_default_index
    return names, len(option.names), option.type.kind, *value, *own, *option.stored_choices()
