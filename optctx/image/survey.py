"""All that is read in an image before anything is decided about it, as one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from optctx.errors import UnsupportedImageError
from optctx.image.facts.interceptions import Interception
from optctx.image.functions import Functions, find_functions
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.image.registry_reader import ImageRegistry, read_registry
from optctx.image.storage_beside import (
    Printing,
    ReportingObject,
    StateBeside,
    StreamTable,
    find_printing,
    find_reporting,
    find_state_beside,
    find_stream_table,
)

__all__ = ["Survey", "survey"]

T = TypeVar("T")


class Survey(NamedTuple):
    """What an image says of its options, and the storage that their values pass through.

    `state`: storage beside the options, where the image has it. `missing`: names of options that lack some.
    `reporting`: what LLVM reports through. `printing`: how it decides about debug output, or else
    `no_printing`: why that cannot be known. `stream_table`: the virtual functions of its stream, or else
    `no_stream_table`: why they are not known. `functions`: what optctx calls or stands in front of.
    """

    image: Image
    registry: ImageRegistry
    state: list[StateBeside]
    missing: set[str]
    reporting: list[ReportingObject]
    printing: Printing | None
    no_printing: str
    stream_table: StreamTable | None
    no_stream_table: str
    functions: Functions

    @property
    def options(self) -> list[RegisteredOption]:
        """Every registered option. What is decided about them is of the last plan that was made."""
        return self.registry.options


def survey(image: Image, of_host: Sequence[Interception]) -> Survey:
    """Read everything, with reads that cannot fault. Changes nothing but what LLVM makes at its first use.

    `of_host`: what its host intercepts beside what is intercepted in every image. Raises
    UnsupportedImageError with what does not fit.
    """
    registry = read_registry(image)
    state, missing = find_state_beside(image)
    reporting = find_reporting(image)
    printing, no_printing = _or_why(lambda: find_printing(image, registry.options))
    table, no_table = _or_why(lambda: find_stream_table(image, reporting[0]))
    functions = find_functions(image, of_host)
    return Survey(
        image, registry, state, missing, reporting, printing, no_printing, table, no_table, functions
    )


def _or_why(find: Callable[[], T]) -> tuple[T | None, str]:
    """Return what is found, or why nothing is."""
    try:
        return find(), ""
    except UnsupportedImageError as error:
        return None, str(error)
