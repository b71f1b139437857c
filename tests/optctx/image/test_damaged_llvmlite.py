"""llvmlite's own registry with words of it overwritten: attaching is one error and changes nothing."""

from __future__ import annotations

import pytest
from support import run_python

START = """
    import ctypes, itertools, random
    import optctx
    from hand_made import Arena, wild_words
    from optctx._native import call_pointer
    from optctx.errors import UnsupportedImageError
    from optctx.image.loaded import llvmlite_image
    from optctx.image.survey import survey
    from support import changed_code

    image = llvmlite_image()
    top, options = (image.symbol(name) for name in (
        "_ZN4llvm2cl10SubCommand11getTopLevelEv", "_ZN4llvm2cl20getRegisteredOptionsERNS0_10SubCommandE"))
    MAP = call_pointer(options, call_pointer(top))
    WILD = wild_words(Arena())
    OFFSET = survey(image).value_offset
    RECORDS = {name: record for record in survey(image).records for name in record.names}

    def place(address):
        return ctypes.c_uint64.from_address(address)

    def outcome(address, word):
        "Whether the registry is refused with this word there, which is put back."
        was = place(address).value
        place(address).value = word
        try:
            survey(image)
        except UnsupportedImageError as error:
            assert str(error).startswith(image.path), error
            return True
        finally:
            place(address).value = was
        return False
"""


def test_any_word_of_the_registry_and_of_its_options_may_be_wild() -> None:
    said = run_python(
        START
        + """
    dice = random.Random(1)
    table = place(MAP + 8).value
    some = [record for record in RECORDS.values() if record.size is not None]
    places = [MAP + 8, MAP + 16, MAP + 24, *(table + 8 * dice.randrange(3 * 4096) for _ in range(20))]
    for record in dice.sample(some, 60):
        places += [record.address + 8 * dice.randrange(record.size // 8)]
    refused = sum(outcome(address, dice.choice(WILD)) for address in places)
    assert not outcome(MAP, 0)  # the epoch, which says nothing
    survey(image)
    print(refused)
    """
    )
    assert int(said) > 20


def test_what_an_option_points_at_is_proven_by_its_type() -> None:
    run_python(
        START
        + """
    def of(kind, external=False):
        return next(r for r in RECORDS.values() if (r.type.kind.name, r.type.external) == (kind, external))

    nowhere, junk = WILD[-3], WILD[-5]
    text, names, numbers, values = of("string"), of("list"), of("bits"), RECORDS["spirv-ext"]
    alias = next(record for record in RECORDS.values() if record.type.alias)
    outside = of("boolean", external=True)
    value = lambda record: record.address + OFFSET
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
        assert outcome(address, word), (hex(address), hex(word))
    """
    )


def test_attaching_is_one_error_that_changes_nothing_and_works_when_the_memory_is_whole() -> None:
    run_python(
        START
        + """
    from support import both

    import llvmlite
    table = place(MAP + 8).value
    for use in (optctx.registry, lambda: optctx.OptionContext(unroll_count=4), optctx.attach):
        place(MAP + 8).value = WILD[-3]
        try:
            use()
        except UnsupportedImageError as error:
            assert f"llvmlite {llvmlite.__version__} (LLVM 22.1)" in str(error), error
            assert "nothing was changed" in str(error), error
        else:
            raise AssertionError("attached")
        finally:
            place(MAP + 8).value = table
        assert changed_code() == []
    with optctx.OptionContext(unroll_count=4):
        assert both() == (4, 4)
    """
    )


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_a_kernel_without_process_vm_readv_changes_nothing(error: str) -> None:
    run_python(
        START
        + f"""
    import errno
    from kernel_refusals import refuse
    from support import unrolled

    refuse("process_vm_readv", errno.{error})
    assert all(outcome(MAP + 8, word) for word in WILD)
    with optctx.OptionContext(unroll_count=4):
        assert unrolled() == 4
    """
    )
