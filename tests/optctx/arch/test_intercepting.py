"""Where x86-64's calling convention has the arguments of functions (System V ABI, 3.2.3)."""

from __future__ import annotations

import pytest

from optctx.arch.x86_64 import register_of

# Words of each argument -> the register that has the last one.
IN_REGISTERS = {(1,): 0, (1, 1, 1): 2, (1, 2, 2): 3, (2, 2, 2): 4, (1, 1, 2, 1, 2, 2, 1): 5}


def test_a_struct_that_fits_in_no_registers_leaves_them_to_later_arguments() -> None:
    assert {words: register_of(words) for words in IN_REGISTERS} == IN_REGISTERS
    for words in [(1, 1, 1, 1, 1, 1, 1), (1, 2, 2, 2), (2, 2, 1, 2)]:
        with pytest.raises(ValueError, match="in memory"):
            register_of(words)
