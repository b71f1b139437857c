"""The engine of an image: its plan in force, in one of two ways, as everything above it sees them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from optctx._native import Context, Setting, Space, is_attached
from optctx.engine.registered import Registered, gone, resolve
from optctx.image.options import RegisteredOption
from optctx.image.survey import Survey
from optctx.plan.plan import Plan
from optctx.plan.ways_in import setter_tables


class CannotRedirectError(Exception):
    """This machine does not let code be changed, whatever the library; nothing was changed."""


class Users(NamedTuple):
    """What needs LLVM to be attached: LLVMContexts that are bound, scopes, blocks that record."""

    bindings: int
    scopes: int
    recorders: int


class Storage(NamedTuple):
    """Addresses of an Option and of its value, good as long as this object lives."""

    option: int
    value: int
    owner: Context | Setting | None


class Engine(ABC):
    """An image with its plan, and how contexts reach it. Lives with the process.

    `redirects`: LLVM's reads are redirected. Then it can be known which options LLVM reads, and in which
    functions; and whatever a thread is inside of, LLVM can be shown something else at any moment.
    `index`: of the image, by which native code knows it.
    `intercepts`: contexts can follow an LLVMContext or a function, as LLVM starts to work on it.
    `shares_machines`: code that a TargetMachine emits has the values in force there, wherever it was made.
    `follows_lljit`: so can what llvmlite's LLJIT makes of a module's text.
    `reason`: why this engine. `fell_back`: the user did not ask for it.
    `kept`: what was done with what earlier processes have kept.
    `setters`: pointers that lead what gives a value to an option to optctx.
    `registered`: the options as LLVM has them registered now.
    """

    name: ClassVar[str]
    redirects: ClassVar[bool]
    space: Space
    intercepts: bool = False
    not_intercepted: str = ""  # what the library lacks for that
    follows_lljit: bool = False
    shares_machines: bool = False

    def __init__(self, survey: Survey, plan: Plan) -> None:
        """Raise UnsupportedImageError if the library does not check out."""
        self.image = survey.image
        self.index = survey.image.index
        self.survey = survey
        self.plan = plan
        self.registered = Registered(survey, plan, self.index)
        self.setters = setter_tables(survey, self.index)
        self.reason = ""
        self.fell_back = False
        self.seconds: dict[str, float] = {}
        self.kept = ""

    # How contexts reach the image

    @property
    def attached(self) -> bool:
        """Whether contexts reach the image now."""
        return is_attached(self.index)

    @abstractmethod
    def attach(self) -> None:
        """Let contexts reach the image. If that fails, nothing is changed.

        Raises CannotRedirectError and UnsupportedImageError.
        """

    @abstractmethod
    def detach(self) -> Users:
        """Undo `attach` in one step, unless something uses it. Raises RuntimeError with nothing changed."""

    @abstractmethod
    def covering(self) -> Context | None:
        """Return what holds the process-wide values while it lives; None: LLVM's own storage does."""

    @abstractmethod
    def report(self) -> dict[str, Any]:
        """Report on the code for `info()`, as plain data."""

    @property
    def why_not_intercepted(self) -> str:
        """Why contexts cannot follow an LLVMContext or a function."""
        return self.not_intercepted or (
            f"threads take turns in this process, and nothing tells when LLVM starts to work ({self.reason})"
        )

    # The options

    @property
    def options(self) -> Mapping[str, RegisteredOption]:
        """By name, as of the last look at LLVM's map."""
        return self.registered.by_name

    def refresh(self) -> Engine:
        """Take in options that were registered late, and drop those that were removed. Returns itself.

        Raises UnsupportedImageError if other threads do not stop registering options.
        """
        self.registered.refresh()
        return self

    def look_up(self, name: str) -> RegisteredOption | None:
        """Return the option that LLVM has registered under this name now, or None. Raises as `refresh`."""
        option = self.options.get(name)
        return option if option is not None and option.late is None else self.refresh().options.get(name)

    def option_at(self, address: int) -> RegisteredOption | None:
        """Return the option whose object is there now, or None. Raises as `refresh`."""
        option = self.registered.by_address.get(address)
        if option is not None and option.late is None:
            return option
        return self.refresh().registered.by_address.get(address)

    def check(self, option: RegisteredOption) -> RegisteredOption:
        """Return the option itself. Raises UnknownOptionError if it has been removed, and as `refresh`."""
        if option.late is None:
            return option
        found = self.option_at(option.address)
        if found is None or found.late != option.late:
            raise gone(option.name)
        return option

    def resolve(self, option: RegisteredOption) -> RegisteredOption:
        """Return the option that an alias stands for, or the option itself."""
        return resolve(option, self.registered.by_address)

    def process_wide(self, option: RegisteredOption) -> Storage:
        """Find where the process-wide value of an option is now, even while threads are inside contexts."""
        if option.slot is not None and (context := self.covering()) is not None:
            return Storage(context.address(option.slot), option.value_in(context.address), context)
        return Storage(option.address, option.place.address, None)

    def drifted(self, drift: Setting) -> Iterator[tuple[RegisteredOption, Storage]]:
        """Yield each option that is not as it was registered, and its copy in a drift of the space."""
        addresses = {patch.slot: patch.address for patch in drift.patches}
        for slot, address in addresses.items():
            option = self.plan.owners.get(slot)
            if option is not None and option.slot == slot:
                yield option, Storage(address, option.value_in(addresses.__getitem__), drift)


class Clock:
    """Seconds from lap to lap, by name."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
