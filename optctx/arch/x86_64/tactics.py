"""How a trampoline gets a register for the address of the storage."""

from __future__ import annotations

import enum

__all__ = ["Tactic"]


class Tactic(enum.IntEnum):
    """The values of `Site.tactic`, as in native/arch/x86_64/trampolines.cpp."""

    DESTINATION = 0  # the instruction overwrites a whole register that it does not read
    SAVED = 1  # a register is saved on the stack
    CALL = 2  # a call or jump through memory: r11 is free there (System V ABI, 3.2.1)
