"""What a host offers: how its LLVM comes into the process, and what only it knows about that LLVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from optctx.errors import UnsupportedImageError
from optctx.image.loaded import Image

__all__ = ["Host", "default_host", "use_host"]


class Host(Protocol):
    """One program or package that has an LLVM of its own. Nothing here, nor below, knows which there are."""

    @property
    def name(self) -> str:
        """As users call it: the name of its package, whose frames are its own."""

    def image(self) -> Image:
        """Its LLVM; loads it. Raises UnsupportedImageError."""

    def has(self, image: Image) -> bool:
        """Whether the image is its LLVM. Loads nothing."""

    def refusal(self, reason: UnsupportedImageError) -> UnsupportedImageError:
        """The error for its LLVM, which did not check out: with the release, and the command that helps."""

    def follow_returns(self, check: Callable[[], None]) -> None:
        """Have `check` called where a call that has run LLVM returns: what it raises, the call raises."""

    def follow_calls(self, begin_and_end: tuple[Callable[[], None], Callable[[], None]]) -> None:
        """Have both called around every call that it makes into its LLVM. Again does nothing."""


_hosts: list[Host] = []


def use_host(host: Host) -> None:
    """Make a host known. The first one is meant where no image is named."""
    _hosts.append(host)


def default_host() -> Host:
    """The host whose LLVM is meant where no image is named."""
    return _hosts[0]
