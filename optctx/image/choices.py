"""The choices of an enum option, as LLVM's own parser lists them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple

from optctx._native import call_virtual_pointer, call_virtual_text, call_virtual_uint
from optctx.image.memory import WORD, MisfitError, checking, load_words

__all__ = ["Choices"]

_MOST_CHOICES = 4096


class Choices(NamedTuple):
    """The generic_parser_base of an enum option: its address, and where its virtual functions are."""

    parser: int
    count_index: int
    name_index: int
    help_index: int
    value_index: int

    def names(self) -> list[str]:
        """Choices in LLVM's order. Here and below: raises UnsupportedImageError."""
        return self._texts(self.name_index)

    def helps(self) -> list[str]:
        """What LLVM says of each choice."""
        return self._texts(self.help_index)

    def stored(self, size: int = 0) -> tuple[int, list[int]]:
        """(bytes of the enum, the integer that each choice stores)."""
        # OptionValue<T>: {vtable, T value, bool valid}
        with self._checking():
            addresses = [
                call_virtual_pointer(self.parser, self.value_index, i) + WORD for i in range(self._count())
            ]
            words = [load_words(address, 1, "the value of a choice")[0] for address in addresses]
        raw = [word.to_bytes(WORD, "little") for word in words]
        if not size:
            size = 1 if raw and all(r[1] == 1 and r[4] != 1 for r in raw) else 4
        return size, [int.from_bytes(r[:size], "little") for r in raw]

    def _texts(self, index: int) -> list[str]:
        with self._checking():
            return [call_virtual_text(self.parser, index, i) for i in range(self._count())]

    def _checking(self) -> AbstractContextManager[None]:
        return checking(f"the choices of the option at {self.parser:#x}")

    def _count(self) -> int:
        count = call_virtual_uint(self.parser, self.count_index)
        if count > _MOST_CHOICES:
            raise MisfitError(f"there are {count}")
        return count
