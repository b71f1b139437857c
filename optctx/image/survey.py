"""All that is read in an image before anything is decided about it, as one value."""

from __future__ import annotations

from typing import NamedTuple

from optctx._native import Image
from optctx.errors import UnsupportedImageError
from optctx.image.options import OptionRecord
from optctx.image.registry import Registry, read_registry
from optctx.image.storage_beside import (
    Printing,
    ReportingObject,
    StateBeside,
    find_printing,
    find_reporting,
    find_state_beside,
)

__all__ = ["Survey", "survey"]


class Survey(NamedTuple):
    """What an image says of its options, and the storage that their values pass through.

    `state`: storage beside the options, where the image has it. `missing`: names of options that lack some.
    `reporting`: what LLVM reports through. `printing`: how it decides about debug output, or else
    `no_printing`: why that cannot be known.
    """

    image: Image
    registry: Registry
    state: list[StateBeside]
    missing: set[str]
    reporting: list[ReportingObject]
    printing: Printing | None
    no_printing: str

    @property
    def records(self) -> list[OptionRecord]:
        """Every registered option."""
        return self.registry.records

    @property
    def value_offset(self) -> int:
        """Bytes from a cl::opt to its value."""
        return self.registry.value_offset


def survey(image: Image) -> Survey:
    """Read everything, with reads that cannot fault. Changes nothing but what LLVM makes at its first use.

    Raises UnsupportedImageError with what does not fit.
    """
    registry = read_registry(image)
    state, missing = find_state_beside(image)
    reporting = find_reporting(image)
    printing, no_printing = None, ""
    try:
        printing = find_printing(image, registry.records)
    except UnsupportedImageError as error:
        no_printing = str(error)
    return Survey(image, registry, state, missing, reporting, printing, no_printing)
