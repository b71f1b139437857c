"""The two mechanisms by which the values of contexts reach LLVM, as the rest of the engine sees them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from optctx._native import Context, SharedPointers, Space, is_attached
from optctx.plan.plan import Plan

__all__ = ["CannotRedirectError", "Clock", "Mechanism", "Users"]


class CannotRedirectError(Exception):
    """This machine does not let code be changed, whatever the library; nothing was changed."""


class Users(NamedTuple):
    """What needs LLVM to be attached: LLVMContexts that are bound, scopes, blocks that record."""

    bindings: int
    scopes: int
    recorders: int


class Mechanism(ABC):
    """`attached`: contexts reach the image now. It is made with the plan and the space that go with it.

    `index`: of the image, by which native code knows it.
    `intercepts`: contexts can follow an LLVMContext or a function, as LLVM starts to work on it.
    `why_not_intercepted`: what the library lacks for that.
    `shares_machines`: code that a TargetMachine emits has the values in force there, wherever it was made.
    `follows_lljit`: so can what llvmlite's LLJIT makes of a module's text.
    `tells_reads`: it can be known which options LLVM reads, and in which functions.
    `follows_tasks`: whatever a thread is inside of, LLVM can be shown something else at any moment.
    """

    name: str
    index: int
    plan: Plan
    space: Space
    setters: SharedPointers  # which lead what gives a value to an option to optctx
    intercepts: bool = False
    why_not_intercepted: str = ""
    follows_tasks: bool = False
    tells_reads: bool = False
    follows_lljit: bool = False
    shares_machines: bool = False

    @property
    def attached(self) -> bool:
        return is_attached(self.index)

    @abstractmethod
    def attach(self) -> None:
        """Raises CannotRedirectError or UnsupportedImageError with nothing changed."""

    @abstractmethod
    def detach(self) -> Users:
        """Undo `attach` in one step, unless something uses it. Raises RuntimeError with nothing changed."""

    @abstractmethod
    def process_wide(self) -> Context | None:
        """Where process-wide values are while it lives; None: always in LLVM's own storage."""

    @abstractmethod
    def report(self) -> dict[str, Any]:
        """What `info()` says of the code: plain data."""


class Clock:
    """Seconds from lap to lap, by name."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
