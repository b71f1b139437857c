"""One registered option of an image: a plain record."""

from __future__ import annotations

from optctx.image.choices import Choices
from optctx.image.memory import WORD
from optctx.image.sets import ElementNames
from optctx.image.typenames import OptionType

__all__ = ["OptionRecord"]


class OptionRecord:
    """One cl::Option object. Addresses are absolute; sizes are in bytes."""

    __slots__ = (
        "_stored",
        "address",
        "alias_of",
        "callback",
        "choices",
        "flag_default_index",
        "has_defaults",
        "heap_size",
        "names",
        "set_default_index",
        "size",
        "type",
        "variable",
        "variable_size",
    )

    def __init__(
        self,
        names: tuple[str, ...],
        address: int,
        size: int | None,  # None: on the heap
        option_type: OptionType,
        choices: Choices | ElementNames | None = None,
        callback: bool = False,
        variable: int = 0,  # what cl::location points at, 0 without external storage
        variable_size: int | None = None,
        has_defaults: bool = True,  # of a list: it holds default elements; up to LLVM 15 none does
        alias_of: int = 0,  # address of the option an alias stands for
        set_default_index: int = 0,
        flag_default_index: int = 0,
        heap_size: int | None = None,  # of one on the heap, where static storage has others of its class
        stored: tuple[list[str], list[int], int] | None = None,
    ) -> None:
        self.names = names
        self.address = address
        self.size = size
        self.type = option_type
        self.choices = choices
        self.callback = callback
        self.variable = variable
        self.variable_size = variable_size
        self.has_defaults = has_defaults
        self.alias_of = alias_of
        self.set_default_index = set_default_index
        self.flag_default_index = flag_default_index
        self.heap_size = heap_size
        self._stored = stored

    @property
    def name(self) -> str:
        return self.names[0]

    def stored_choices(self) -> tuple[list[str], list[int], int]:
        """(names of the choices, the integer that each stores, bytes of the enum); empty without choices."""
        if self.choices is None:
            return [], [], 4
        if self._stored is None:  # asked first before anything attaches: checked reads fail during an audit
            size, stored = self.choices.stored(WORD if self.type.registry_parser else 0)
            self._stored = self.choices.names(), stored, size
        return self._stored
