"""Libraries without a symbol table: a separate debug file has it, or their code proves what it would say."""

from __future__ import annotations

import ctypes
import pathlib
import shutil
import struct
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import optctx
from optctx import ProcessWideOptionError, loaded_image, registry
from optctx._native import Library, MisfitError, StepKind, Value, option_at, trace
from optctx.engine.attach import attach
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.loaded import Image
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, compile_cpp
from tests.support.library_code import read_words
from tests.support.own_llvm import claims_of
from tests.support.processes import in_child

_DELETING = 4  # place of the deleting destructor among an option's virtual functions


def strip(library: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """Write a copy without a symbol table."""
    subprocess.run(["strip", "-o", out, library], check=True)
    return out


def compared(path: pathlib.Path, other: pathlib.Path, check: Callable[[Image, Image], None]) -> None:
    """Check two copies of a library in a child of fork."""

    def work() -> None:
        ctypes.CDLL(str(path)), ctypes.CDLL(str(other))
        check(loaded_image(path), loaded_image(other))

    in_child(work)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("small") / "libsmall.so"
    return compile_cpp("small_llvm.cpp", out, *SHARED, "-Wl,--build-id", "-DIDLE_ELSEWHERE")


def test_a_stripped_library_proves_what_its_symbols_say_or_refuses_it_by_name(
    small: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    def check(named: Image, stripped: Image) -> None:
        assert (named.is_stripped, stripped.is_stripped) == (False, True)
        claims, all_claims = claims_of(stripped), claims_of(named)
        assert [own for own, of_all in zip(claims, all_claims, strict=True) if not own <= of_all] == []
        unclaimed = {own[0] for own in all_claims.options - claims.options}
        assert unclaimed == {"own-location", "own-flag", "debug", "debug-only"}
        assert optctx.info(stripped)["images"][0]["symbols"] == "stripped"
        readers = attach(stripped).options["own-count"].readers
        assert readers == ("values_seen",), "what is exported has its name"
        pattern_seen = ctypes.CDLL(stripped.path).pattern_seen
        pattern_seen.restype = ctypes.c_char_p
        with optctx.OptionContext({"remarks": "inline"}, image=stripped):
            assert pattern_seen() == b"inline"
        assert pattern_seen() == b""
        assert registry(named)["own-location"].scope == "thread"
        for name, why in (
            ("part-of-pair", "nothing proves that its Option object is no part of another one"),
            ("own-location", "has no name in the library"),
        ):
            with pytest.raises(ProcessWideOptionError, match=why):
                optctx.OptionContext({name: 1}, image=stripped)
        missing = optctx.info(stripped)["images"][0]["unavailable"]
        assert {"contexts bound to LLVMContexts", "debug output for one thread"} <= missing.keys()

    compared(small, strip(small, tmp_path / "stripped.so"), check)


def test_the_symbol_table_may_be_in_a_separate_file(small: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Beside the library, or in `.debug` there. It counts only for the build id that it is for."""
    stripped, debug = strip(small, tmp_path / "stripped.so"), tmp_path / "small.debug"
    subprocess.run(["objcopy", "--only-keep-debug", small, debug], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", stripped], check=True)

    def check(named: Image, separate: Image) -> None:
        assert not separate.is_stripped
        assert separate.debug_file == str(place)
        assert claims_of(named) == claims_of(separate)
        assert optctx.info(separate)["images"][0]["symbols"] == str(place)

    for place in (debug, tmp_path / ".debug" / debug.name):
        place.parent.mkdir(exist_ok=True)
        debug = debug.rename(place)
        compared(small, stripped, check)

    def check_other(_: Image, other: Image) -> None:
        assert (other.is_stripped, other.debug_file) == (True, "")

    changed = bytearray(place.read_bytes())
    ctypes.CDLL(str(small))
    at = changed.index(bytes.fromhex(loaded_image(small).build_id))
    changed[at] ^= 1
    place.write_bytes(changed)
    compared(small, stripped, check_other)


def pack_pointers(path: pathlib.Path) -> None:
    """Say of a section that it has packed pointers, as linkers write them if they are told to."""
    content = bytearray(path.read_bytes())
    (sections,), (count,) = (
        struct.unpack_from(form, content, at) for form, at in (("<Q", 0x28), ("<H", 0x3C))
    )
    kinds = [sections + 64 * number + 4 for number in range(count)]
    strings = 1, 0x30  # PROGBITS; MERGE, STRINGS
    [comment] = [at for at in kinds if struct.unpack_from("<IQ", content, at) == strings]
    struct.pack_into("<I", content, comment, 19)
    path.write_bytes(content)


def test_a_library_in_which_references_to_options_would_not_be_found_is_refused(
    small: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    copied, changed = shutil.copy(small, tmp_path / "copy.so"), tmp_path / "changed.so"
    ctypes.CDLL(str(copied))
    base = loaded_image(copied).base
    for change, why in (
        ("--strip-all -R .eh_frame_hdr", "without exported symbols"),
        ("--rename-section .fini=.text.fini", "has code outside .text"),
        ("", "has pointers that are packed"),
    ):
        subprocess.run(["objcopy", *change.split(), small, changed], check=True)
        if not change:
            pack_pointers(changed)
        changed.rename(copied)
        with pytest.raises(MisfitError, match=why):
            Library(str(copied).encode(), base)


# Tracing


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Library:
    path = tmp_path_factory.mktemp("traced") / "libtraced.so"
    compile_cpp("traced.cpp", path, *SHARED, "-Wl,--build-id")
    ctypes.CDLL(str(path))
    return loaded_image(path)


def steps_of(library: Library, name: str) -> list[Any] | None:
    function = library.named(name)
    assert function is not None
    steps, words = trace(library, function), dict[object, str]()
    for each in ("one", "two"):
        word = library.named(each)
        assert word is not None
        words[word.address] = each

    def shown(value: Value) -> object:
        if value.argument is not None:
            return f"argument {value.argument}"
        return words.get(value.constant, value.constant)

    at_exit = library.slots_of("__cxa_atexit")
    if steps is None:
        return None
    assert all(step.target in at_exit for step in steps if step.kind == StepKind.call and step.target)
    return [
        (words.get(step.target, step.target), shown(step.first))
        if step.kind == StepKind.store
        else (step.target, shown(step.first))
        if step.kind == StepKind.virtual_call
        else (shown(step.first), shown(step.second))
        for step in steps
        if step.kind != StepKind.call or step.target
    ]


def test_what_is_said_of_a_call_is_true_on_every_path(traced: Library) -> None:
    assert steps_of(traced, "straight") == [("two", "one"), ("argument 0", "one"), (None, 24)]
    assert steps_of(traced, "joined") == [("argument 0", None)]
    assert steps_of(traced, "jumped_to") == [("argument 0", None)]
    assert steps_of(traced, "repeated") == [("argument 0", None)]
    assert steps_of(traced, "overwritten") == [(None, "argument 1"), (None, None)]
    assert steps_of(traced, "halves") == [("one", None), ("one", None)]
    assert steps_of(traced, "stores") == [("one", "argument 1"), ("two", "argument 0"), (0x40, None)]
    assert steps_of(traced, "by_table") is None
    assert steps_of(traced, "unusual") is None


@alone
def test_deleting_destructors_say_what_the_symbol_table_says() -> None:
    """Of every option of llvmlite's library, where the symbol table judges."""
    image = llvmlite_image()
    frees = image.slots_of("_ZdlPvm")
    agreed, classes = 0, dict[int, set[object]]()
    for option in attach(image).plan.options.values():
        vtable = option_at(option.address).vtable
        if vtable not in classes:
            function = image.function_at(read_words(vtable, _DELETING + 1)[_DELETING])
            assert function is not None
            classes[vtable] = {
                step.second.constant
                for step in trace(image, function) or ()
                if step.kind == StepKind.call and step.target in frees and step.first.argument == 0
            }
        if option.size is not None:
            assert classes[vtable] <= {option.size}, option.name
            agreed += len(classes[vtable])
    assert agreed > 2000
    assert len(classes) > 90
