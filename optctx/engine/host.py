"""What a host offers: how its LLVM comes into the process, and what only it knows about that LLVM."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from optctx.errors import UnsupportedImageError
from optctx.image.facts.interceptions import Interception
from optctx.image.loaded import Image


class Host(ABC):
    """One way by which programs use an LLVM. Nothing here, nor below, knows which there are.

    `reports_calls`: it tells of its calls, and they raise what LLVM's work leaves (`tasks/problems.py`).
    `between`: the Python packages that may lie between a program and its LLVM. `setter`: how a program sets
    an option for the whole process, with "{}" for its name.
    """

    reports_calls = False
    setter = "LLVMParseCommandLineOptions, as '-{}=...'"
    between: frozenset[str] = frozenset()

    def refusal(self, reason: UnsupportedImageError) -> str:
        """Say that its LLVM did not check out, with the release and the command that helps; or nothing."""
        return ""

    def interceptions(self) -> Sequence[Interception]:
        """Return what its LLVM has to be intercepted in beside what is intercepted in every LLVM."""
        return ()

    @abstractmethod
    def llvm_context_address(self, llvm_context: object) -> int:
        """Find the llvm::LLVMContext behind what its users hold.

        Raises TypeError for anything else, and OptctxError for one that is closed or null.
        """

    @abstractmethod
    def module_address(self, module: object) -> int:
        """Find the llvm::Module behind what its users hold; raises as `llvm_context_address` does."""

    def lock(self) -> AbstractContextManager[object]:
        """Return the lock that each of its calls into its LLVM holds. No exception leaves it held."""
        return nullcontext()

    def attaching(self) -> None:
        """Hook its calls and its freeing: contexts are about to reach its LLVM. Again does nothing."""
        return

    def follow_calls(self, begin_and_end: tuple[Callable[[], None], Callable[[], None]]) -> None:
        """Have both called around every call that it makes into its LLVM. Again does nothing."""
        return


class DefaultHost(Host):
    """A host that is meant where no image is named. `package`: through which programs use it."""

    package: str

    @abstractmethod
    def has(self, image: Image) -> bool:
        """Tell whether the image is its LLVM. Loads nothing."""

    @abstractmethod
    def image(self) -> Image:
        """Return its LLVM, and load it if need be. Raises UnsupportedImageError."""


_default: DefaultHost | None = None
_other: Host


def use_hosts(default: DefaultHost, other: Host) -> None:
    """Make the hosts known. An image that the default one does not have belongs to the other."""
    global _default, _other
    _default, _other = default, other


def default_host() -> DefaultHost:
    """Return the host whose LLVM is meant where no image is named."""
    if _default is None:
        importlib.import_module("optctx.assembling")
    assert _default is not None
    return _default


def host_of(image: Image | None) -> Host:
    """Return the host that an image belongs to, by default the default host. Loads nothing."""
    default = default_host()
    return default if image is None or default.has(image) else _other
