"""llvmlite's own registry with words of it overwritten: attaching is one error and changes nothing."""

from __future__ import annotations

import ctypes
import errno
import random
from typing import Any

import llvmlite
import pytest

import optctx
from optctx.errors import UnsupportedImageError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.registry_reader import read_registry
from tests.optctx.image.hand_made import Arena, wild_words
from tests.support.alone import alone
from tests.support.kernel_refusals import refuse
from tests.support.library_code import changed_code
from tests.support.processes import forked
from tests.support.rows import rows
from tests.support.scopes import both, unrolled


class Registry:
    """llvmlite's own, to be overwritten."""

    def __init__(self) -> None:
        self.image = llvmlite_image()
        self.wild = wild_words(Arena())
        found = read_registry(self.image)
        self.map, self.offset = found.map, found.value_offset
        self.options = {name: option for option in found.options for name in option.names}

    def outcome(self, address: int, word: int) -> bool:
        """Whether the registry is refused with this word there, which is put back."""
        was = place(address).value
        place(address).value = word
        try:
            read_registry(self.image)
        except UnsupportedImageError as error:
            if not str(error).startswith(self.image.path):
                raise
            return True
        finally:
            place(address).value = was
        return False


def place(address: int) -> ctypes.c_uint64:
    return ctypes.c_uint64.from_address(address)


@alone
def test_any_word_of_the_registry_and_of_its_options_may_be_wild() -> None:
    its = Registry()
    dice = random.Random(1)
    table = place(its.map + 8).value
    some = [(option.address, option.size) for option in its.options.values() if option.size is not None]
    places = [its.map + at for at in (8, 16, 24)]
    places += [table + 8 * dice.randrange(3 * 4096) for _ in range(10)]
    for address, size in dice.sample(some, 15):
        places += [address + 8 * dice.randrange(size // 8)]
    refused = sum(its.outcome(address, dice.choice(its.wild)) for address in places)
    assert not its.outcome(its.map, 0)  # the epoch, which says nothing
    read_registry(its.image)
    assert refused > 10


@alone
def test_what_an_option_points_at_is_proven_by_its_type() -> None:
    its = Registry()

    def of(kind: str, external: bool = False) -> Any:
        types = ((option, option.type) for option in its.options.values())
        return next(each for each, type in types if (type.kind.name, type.external) == (kind, external))

    nowhere, junk = its.wild[-3], its.wild[-5]
    text, names, numbers, values = of("string"), of("list"), of("bits"), its.options["spirv-ext"]
    alias = next(option for option in its.options.values() if option.type.alias)
    outside = of("boolean", external=True)

    def value(option: Any) -> int:
        return option.address + its.offset

    for address, word in [
        (text.address, nowhere),  # its virtual functions
        (text.address, place(values.address).value + 8),
        (value(text), nowhere),
        (value(text), 0),
        (value(text), junk),  # a length of everything
        (value(names), 8),  # begins, and does not end
        (value(names) + 8, 1 << 40),
        (value(names) + 0x38, nowhere),
        (value(numbers) + 8, junk),
        (value(values) + 0x10, nowhere),
        (value(values) + 0x28, 1 << 40),
        (value(values) + 0x18, junk),
        (value(alias), alias.address),
        (value(alias), nowhere),
        (value(outside), nowhere),
    ]:
        assert its.outcome(address, word), (hex(address), hex(word))


@alone
def test_attaching_is_one_error_that_changes_nothing_and_works_when_the_memory_is_whole() -> None:
    its = Registry()
    table = place(its.map + 8).value
    for use in (optctx.registry, lambda: optctx.OptionContext(unroll_count=4), optctx.attach):
        place(its.map + 8).value = its.wild[-3]
        try:
            with pytest.raises(UnsupportedImageError, match="nothing was changed") as caught:
                use()
        finally:
            place(its.map + 8).value = table
        assert f"llvmlite {llvmlite.__version__} (LLVM 22.1)" in str(caught.value)
        assert changed_code() == []
    with optctx.OptionContext(unroll_count=4):
        assert both() == (4, 4)


@alone
@rows("error", ["EPERM", "ENOSYS"])
@forked
def test_a_kernel_without_process_vm_readv_changes_nothing(error: str) -> None:
    its = Registry()
    refuse("process_vm_readv", getattr(errno, error))
    assert all(its.outcome(its.map + 8, word) for word in its.wild)
    with optctx.OptionContext(unroll_count=4):
        assert unrolled() == 4
