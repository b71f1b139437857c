"""Where x86-64's calling convention has the arguments of functions (System V ABI, 3.2.3)."""

from __future__ import annotations

import pytest

from optctx.arch.x86_64 import register_of
from tests.support.rows import rows


@rows(
    ("words", "register"),
    [((1,), 0), ((1, 1, 1), 2), ((1, 2, 2), 3), ((2, 2, 2), 4), ((1, 1, 2, 1, 2, 2, 1), 5)],
)
def test_a_struct_that_fits_in_no_registers_leaves_them_to_later_arguments(
    words: tuple[int, ...], register: int
) -> None:
    assert register_of(words) == register


@rows("words", [(1, 1, 1, 1, 1, 1, 1), (1, 2, 2, 2), (2, 2, 1, 2)])
def test_an_argument_in_memory_is_in_no_register(words: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="in memory"):
        register_of(words)
