"""Patching the real library: all sites or none, every byte back, other threads unharmed."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os

import pytest

import optctx
import optctx.engine.attach as attaching
from optctx._native import SharedPointers, Transaction, is_attached, read_bytes, redirect, restore
from optctx.hosts.llvmlite import llvmlite_image
from tests.native.patch.patching import as_before, prepare, prepared, refused
from tests.support.alone import alone
from tests.support.library_code import LLVMLITE, changed_code
from tests.support.scopes import in_threads, meanwhile, unrolled
from tests.support.seccomp import refuse

mprotect = ctypes.CDLL(None).mprotect
mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def mapped(begin: int, end: int) -> set[str]:
    """Access, place, file of the mappings there: profilers and debuggers name functions by them."""
    found = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, access, offset, device, inode, *path = line.split()
            first, last = (int(each, 16) for each in span.split("-"))
            if first < end and last > begin:
                found.append((access, first - int(offset, 16), device, inode, path))
    return set(map(str, found))


def compile() -> None:
    assert unrolled() == 1


MEMBARRIER, QUERY, OF_CODE = 324, 0, 1 << 5  # of x86-64; linux/membarrier.h


def kernel(command: int) -> int:
    """What membarrier(2) returns. It takes OF_CODE only from a process that has said that it will use it."""
    return int(ctypes.CDLL(None).syscall(MEMBARRIER, command, 0, 0))


@prepared
def test_every_byte_is_back_after_undo_also_beside_threads_that_compile() -> None:
    sites, begin, end = prepare()
    mappings = mapped(begin, end)
    transaction = Transaction(sites, begin, end)
    assert len(transaction) == len(sites)
    lines = {line for address, code, _ in sites for line in (address, address + len(code) - 1)}
    assert kernel(QUERY) & OF_CODE
    assert kernel(OF_CODE) == -1
    for _ in range(2):
        transaction.commit()
        assert transaction.committed
        for address, code, _ in sites:
            now = read_bytes(address, len(code))
            target = address + 5 + int.from_bytes(now[1:5], "little", signed=True)
            assert now[0] == 0xE9
            assert target == transaction.trampoline_of(address)
            assert now[5:] == b"\xcc" * (len(code) - 5)  # never reached
        assert {line - line % 64 for line in changed_code()} <= {line - line % 64 for line in lines}
        compile()
        assert mapped(begin, end) == mappings
        transaction.commit()  # a second time: nothing to do
        transaction.undo()
        assert not transaction.committed
        assert as_before(sites)
        assert mapped(begin, end) == mappings
        transaction.undo()
    with meanwhile(compile, compile):
        for _ in range(4):
            transaction.commit()
            compile()
            transaction.undo()
    assert as_before(sites)
    assert kernel(OF_CODE) == 0, "every processor has forgotten old instructions when a change returns"


@pytest.mark.parametrize("call", ["mprotect", "mremap"])
@prepared
def test_a_refusal_by_the_kernel_leaves_every_byte_as_it_was_beside_a_thread_that_compiles(call: str) -> None:
    sites, begin, end = prepare()
    fresh, redirected = Transaction(sites[10:], begin, end), Transaction(sites[:10], begin, end)
    redirected.commit()
    changed = changed_code()

    def fail() -> None:
        refuse(call, errno.ENOMEM)
        for change in (fresh.commit, redirected.undo) * 5:
            with pytest.raises(RuntimeError, match=f"{call}.*Cannot allocate memory"):
                change()
            assert (redirected.committed, fresh.committed, changed_code()) == (True, False, changed)

    with meanwhile(compile):
        in_threads([fail])
    assert unrolled() == 1


@prepared
def test_sites_that_do_not_check_out_are_refused_before_anything_changes() -> None:
    sites, begin, end = prepare()
    address, code, new = sites[0]
    longest = max(sites, key=lambda site: len(site[1]))
    wrong = bytes([code[0] ^ 1]) + code[1:]
    refused("other code has changed these bytes", [*sites[1:], (address, wrong, new)], begin, end)
    refused("too short for a jump", [*sites[1:], (address, code[:4], new)], begin, end)
    refused("overlap", [*sites, sites[0]], begin, end)
    inner = (longest[0] + 1, longest[1][1:], longest[2])
    refused("overlap", [longest, inner], begin, end)
    refused("outside the code", sites, address + 1, end)
    refused("outside the code", sites, begin, sites[-1][0])


@prepared
def test_code_that_somebody_else_changed_is_a_reason_not_to_attach() -> None:
    sites, begin, end = prepare()
    first = Transaction(sites[:10], begin, end)
    first.commit()
    changed = changed_code()
    for use in (optctx.registry, lambda: Transaction(sites, begin, end)):
        with pytest.raises((optctx.UnsupportedImageError, RuntimeError)) as caught:
            use()
        assert "other code has changed these bytes" in str(caught.value)
    assert attaching.attached() is None
    assert changed_code() == changed
    first.undo()
    assert as_before(sites)
    with optctx.OptionContext({"unroll-count": 4}):
        assert unrolled() == 4


@prepared
def test_what_another_library_has_changed_in_the_code_stays_so() -> None:
    """A debugger's breakpoint, for example: in a page with sites, and in one without."""
    sites, begin, end = prepare()
    pages = {address // 4096 for address, _, _ in sites}
    with_sites = sites[len(sites) // 2][0]
    free = next(page for page in range(begin // 4096 + 1, end // 4096) if page not in pages)
    without = free * 4096 + 100
    # A byte that belongs to no site, in the same page as one.
    taken = {at + i for at, code, _ in sites for i in range(len(code))}
    beside = next(at for at in range(with_sites, with_sites + 200) if at not in taken)
    memory = os.open("/proc/self/mem", os.O_RDWR)
    original = {at: read_bytes(at, 1) for at in (beside, without)}
    for at, byte in original.items():
        assert os.pwrite(memory, bytes([byte[0] ^ 0xFF]), at) == 1
    transaction = Transaction(sites, begin, end)
    for change in (transaction.commit, transaction.undo):
        change()
        assert all(read_bytes(at, 1)[0] == byte[0] ^ 0xFF for at, byte in original.items())
    for at, byte in original.items():
        assert os.pwrite(memory, byte, at) == 1
    assert as_before(sites)
    assert unrolled() == 1


@alone
def test_code_that_is_no_mapping_of_a_file_is_redirected_as_well() -> None:
    """Some launchers move the code of libraries into huge pages of no file."""
    image = llvmlite_image()
    first, last = image.text_begin // 4096 * 4096, -(-image.text_end // 4096) * 4096
    libc = ctypes.CDLL(None)
    libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mremap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 2, ctypes.c_int, ctypes.c_void_p]
    size = last - first
    of_no_file = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    copy = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, of_no_file, -1, 0)
    ctypes.memmove(copy, first, size)
    assert mprotect(copy, size, mmap.PROT_READ | mmap.PROT_EXEC) == 0
    assert libc.mremap(copy, size, size, 3, first) == first  # MREMAP_MAYMOVE | MREMAP_FIXED
    assert unrolled() == 1
    for _ in range(2):
        with optctx.OptionContext({"unroll-count": 4}):
            assert unrolled() == 4
        optctx.detach()
        assert changed_code() == []
        assert unrolled() == 1


# Attaching and detaching: a step that fails leaves the steps before it undone

Steps = tuple[Transaction, SharedPointers, SharedPointers]


def steps(*pointers: list[tuple[int, int, int]]) -> Steps:
    """One instruction, and pointers of each kind: where they are, what they are and become."""
    sites, begin, end = prepare()
    tables, setters = map(SharedPointers, pointers)
    return Transaction(sites[:1], begin, end), tables, setters


def done(own: Steps) -> list[bool]:
    return [*(each.committed for each in own), is_attached(LLVMLITE)]


def address_of(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


@prepared
def test_pages_between_two_pointers_keep_their_own_protection() -> None:
    """They belong to others: a page of data that became read-only would be the end of its writer."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 5 * page, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    begin, end = address_of(memory), address_of(memory) + len(memory)
    read, write, execute = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
    for number, access in enumerate((read, read | write, 0, read | execute, read)):
        assert mprotect(begin + number * page, page, access) == 0
    before = mapped(begin, end)
    assert len(before) == 5
    own = steps([(begin + page - 8, 0, 1), (begin + 4 * page, 0, 2)], [])
    for change, found in ((redirect, (1, 2)), (restore, (0, 0))) * 2:
        change(LLVMLITE, *own)
        assert (memory[page - 8], memory[4 * page]) == found
        assert mapped(begin, end) == before


@prepared
def test_a_step_that_fails_leaves_all_as_it_was() -> None:
    """What was unmapped cannot be written."""

    def two() -> tuple[tuple[mmap.mmap, mmap.mmap], Steps]:
        memory = mmap.mmap(-1, mmap.PAGESIZE), mmap.mmap(-1, mmap.PAGESIZE)
        return memory, steps(*([(address_of(each), 0, 1)] for each in memory))

    def pointers() -> set[int]:
        return {int.from_bytes(each[:8], "little") for each in memory if not each.closed}

    for which in range(2):
        memory, own = two()
        memory[which].close()
        with pytest.raises(RuntimeError):
            redirect(LLVMLITE, *own)
        assert (done(own), pointers()) == ([False] * 4, {0})
    for which in range(2):
        memory, own = two()
        redirect(LLVMLITE, *own)
        memory[which].close()
        with pytest.raises(RuntimeError):
            restore(LLVMLITE, *own)
        assert (done(own), pointers()) == ([True] * 4, {1})
        own[0].undo()
    memory, own = two()
    redirect(LLVMLITE, *own)
    assert (done(own), pointers()) == ([True] * 4, {1})
    assert restore(LLVMLITE, *own) == (0, 0, 0)
    assert (done(own), pointers()) == ([False] * 4, {0})
