"""A step of attaching or detaching that fails leaves the steps before it undone."""

from __future__ import annotations

import ctypes
import mmap

import pytest

from optctx._native import SharedPointers, Transaction, is_attached, redirect, restore
from tests.native.patch.patching import prepare, prepared
from tests.support.library_code import LLVMLITE

pytestmark = pytest.mark.redirected

Steps = tuple[Transaction, SharedPointers, SharedPointers]


def pointer(memory: mmap.mmap) -> list[tuple[int, int, int]]:
    """A pointer at the beginning of the memory: from 0 to 1."""
    return [(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 0, 1)]


def steps(tables: mmap.mmap, setters: mmap.mmap) -> Steps:
    """One instruction, and a pointer of each kind. What was unmapped cannot be written."""
    sites, begin, end = prepare()
    return (
        Transaction(sites[:1], begin, end),
        SharedPointers(pointer(tables)),
        SharedPointers(pointer(setters)),
    )


def done(own: Steps) -> list[bool]:
    return [*(each.committed for each in own), is_attached(LLVMLITE)]


def pointers(memory: tuple[mmap.mmap, ...]) -> set[int]:
    """What the pointers are that are still mapped."""
    return {int.from_bytes(each[:8], "little") for each in memory if not each.closed}


@prepared
def test_a_step_that_fails_leaves_all_as_it_was() -> None:
    for which in range(2):
        memory = mmap.mmap(-1, mmap.PAGESIZE), mmap.mmap(-1, mmap.PAGESIZE)
        own = steps(*memory)
        memory[which].close()
        with pytest.raises(RuntimeError):
            redirect(LLVMLITE, *own)
        assert done(own) == [False] * 4
        assert pointers(memory) == {0}
    for which in range(2):
        memory = mmap.mmap(-1, mmap.PAGESIZE), mmap.mmap(-1, mmap.PAGESIZE)
        own = steps(*memory)
        redirect(LLVMLITE, *own)
        assert done(own) == [True] * 4
        memory[which].close()
        with pytest.raises(RuntimeError):
            restore(LLVMLITE, *own)
        assert done(own) == [True] * 4
        assert pointers(memory) == {1}
        own[0].undo()
    memory = mmap.mmap(-1, mmap.PAGESIZE), mmap.mmap(-1, mmap.PAGESIZE)
    own = steps(*memory)
    redirect(LLVMLITE, *own)
    assert restore(LLVMLITE, *own) == (0, 0, 0)
    assert done(own) == [False] * 4
    assert pointers(memory) == {0}
