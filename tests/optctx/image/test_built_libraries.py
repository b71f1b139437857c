"""An LLVM that people build: newer strings, slots of the global offset table, callbacks that do nothing.
And one that clang builds, with libc++ and ThinLTO.

The library is of the project's own making, with the shapes of LLVM 19 (tests/programs/cpp/small_llvm.cpp).
"""

from __future__ import annotations

import ctypes
import pathlib
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

import optctx
from optctx import (
    OptctxError,
    OptionContext,
    ProcessWideOptionError,
    UnsupportedImageError,
    loaded_image,
    registry,
)
from optctx.arch import processor
from optctx.image.loaded import Image
from tests.support.audit import audit
from tests.support.cpp_build import SHARED, compile_cpp
from tests.support.processes import in_child, output_of

# As LLVM_BUILD_LLVM_DYLIB links; with callbacks that a compiler names otherwise; with libc++, as it may be,
# without optimisation and without a build id.
NO_ID = "-Wl,--build-id=none"
LIBCXX = ("-DLIBCXX", NO_ID)
WAYS = (("-Wl,-Bsymbolic-functions",), ("-DIDLE_ELSEWHERE",), LIBCXX)
STRIPPED = ((*WAYS[0], "-s"),)  # as distributions have them
TEXTS = (
    "",
    "short",
    "fifteen letters",
    "sixteen letters!",
    "twenty-two letters, so",
    "twenty-three letters, so",
    "a text of more than fifteen letters",
    "x" * 5000,
)
_ROOM = 1 << 16


@dataclass(frozen=True)
class Values:
    """What the code of the library sees, as registered."""

    count: int = 1
    location: int = 2
    own: int = 3
    first: int = 4
    text: str = "short"
    own_text: str = "a default of more than fifteen characters"
    texts: tuple[str, ...] = ()

    def context(self, image: Image) -> OptionContext:
        return OptionContext(
            {
                "exported-count": self.count,
                "exported-location": self.location,
                "own-count": self.own,
                "first-of-table": self.first,
                "exported-text": self.text,
                "own-text": self.own_text,
                "own-texts": list(self.texts),
            },
            image=image,
        )

    def __str__(self) -> str:
        numbers = f"{self.count} {self.location} {self.own} {self.first} 6"
        return " ".join([numbers, self.text, self.own_text, *self.texts])


class Small:
    """The library, attached to."""

    def __init__(self, path: pathlib.Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.image = loaded_image(path)
        optctx.attach(image=self.image)

    def seen(self, of_table: int = 0) -> str:
        text = ctypes.create_string_buffer(_ROOM)
        self.library.values_seen(of_table, text, _ROOM)
        return text.value.decode()


@pytest.fixture(scope="session", params=(*WAYS, *STRIPPED), ids=lambda way: " ".join(way) or "plain")
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return small(tmp_path_factory.mktemp("small") / "libsmall.so", *request.param)


def small(out: pathlib.Path, *flags: str) -> pathlib.Path:
    """The library, built this way; "-s": without its symbol table."""
    compile_cpp("small_llvm.cpp", out, *SHARED, "-Wl,--build-id", *(flag for flag in flags if flag != "-s"))
    if "-s" in flags:
        output_of("strip", out)
    return out


def in_library(path: pathlib.Path, work: Callable[[Small], object]) -> None:
    """Do it in a child of fork: a process can attach to eight images."""
    in_child(lambda: work(Small(path)))


def test_each_kind_of_option_is_read_from_the_scope_of_its_thread(library: pathlib.Path) -> None:
    def one(small: Small, seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(50):
            count, location, own, first = (draw.randrange(1000) for _ in range(4))
            texts = tuple(draw.choice(TEXTS[1:7]) for _ in range(draw.randrange(4)))
            values = Values(count, location, own, first, draw.choice(TEXTS), draw.choice(TEXTS), texts)
            with values.context(small.image) as context:
                assert small.seen() == str(values)
                with OptionContext({"own-text": "inner"}, image=small.image):
                    assert " inner" in small.seen()
                assert small.seen() == str(values)
                assert context["own-text"] == values.own_text
                assert context["own-texts"] == list(values.texts)

    def work(small: Small) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: one(small, seed), range(8)))
        assert small.seen() == str(Values())
        assert not optctx.drift(small.image)

    in_library(library, work)


def test_what_the_library_writes_to_its_text_ends_with_the_scope(library: pathlib.Path) -> None:
    """It assigns in place, frees the characters and takes others, or moves them."""

    def one(small: Small, seed: int) -> None:
        draw = random.Random(seed)
        for given in TEXTS:
            values = Values(own_text=given)
            context = values.context(small.image)
            for _ in range(20):
                with context:
                    assert small.seen() == str(values)
                    for _ in range(3):
                        write = draw.choice((small.library.assign_text, small.library.move_text))
                        write(written := draw.choice(TEXTS).encode())
                        assert small.seen() == str(Values(own_text=written.decode()))

    def work(small: Small) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: one(small, seed), range(4)))
        assert small.seen() == str(Values())

    in_library(library, work)


def test_what_the_library_writes_past_a_table_reaches_no_other_scope(library: pathlib.Path) -> None:
    def one(small: Small, context: OptionContext, seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(50):
            with context:
                assert small.seen() == str(Values())
                small.library.set_numbers(count := draw.randrange(1000), first := draw.randrange(1000))
                assert small.seen() == str(Values(count=count, first=first))

    def work(small: Small) -> None:
        context = Values().context(small.image)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: one(small, context, seed), range(4)))
        assert small.seen() == str(Values())
        assert not optctx.drift(small.image)

    in_library(library, work)


def in_libcxx(tmp_path: pathlib.Path, work: Callable[[Small], object]) -> None:
    in_library(small(tmp_path / "libsmall.so", *LIBCXX), work)


def test_each_instruction_that_clang_reads_with_is_redirected(tmp_path: pathlib.Path) -> None:
    def seen(small: Small) -> list[int]:
        found = (ctypes.c_uint * 11)()
        small.library.instructions_seen(found)
        return list(found)

    def expected(count: int) -> list[int]:
        low = count & 255
        flags = [low == 40, bool(low & 8), count < 100_000]
        return [
            *map(int, flags),
            low,
            count,
            count,
            count,
            (1 - count) % 2**32,
            count,
            count,
            (100_000 * count) % 2**32,
        ]

    def one(small: Small, count: int) -> None:
        with OptionContext({"read-by-every-instruction": count}, image=small.image):
            assert seen(small) == expected(count)

    def work(small: Small) -> None:
        with audit(small.image) as found, ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda count: one(small, count), (0, 8, 40, 255, 99_999, 100_000, 2**31 - 1)))
        assert found.accesses == []
        assert found.regions > 5
        assert seen(small) == expected(40)

    in_libcxx(tmp_path, work)


def test_what_options_of_libcxx_share_lives_as_long_as_one_refers_to_it(tmp_path: pathlib.Path) -> None:
    def pattern(small: Small) -> str:
        small.library.pattern_seen.restype = ctypes.c_char_p
        found: bytes = small.library.pattern_seen()
        return found.decode()

    def one(small: Small, text: str) -> None:
        context = OptionContext({"remarks": text}, image=small.image)
        for _ in range(20):
            with context:
                assert pattern(small) == text
                with OptionContext({"own-count": 5}, image=small.image):
                    assert pattern(small) == text

    def work(small: Small) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda text: one(small, text), TEXTS))
        assert pattern(small) == ""
        assert small.library.patterns_alive() == len(TEXTS), "no entry frees one, or makes one"

    in_libcxx(tmp_path, work)


def test_a_libcxx_whose_strings_have_another_layout_is_refused(tmp_path: pathlib.Path) -> None:
    """As libc++ can be built: the characters first, and twice their number last."""
    path = small(tmp_path / "libsmall.so", *LIBCXX, "-DOTHER_LAYOUT")

    def work() -> None:
        ctypes.CDLL(str(path))
        with pytest.raises(UnsupportedImageError, match="is not laid out as libc\\+\\+'s are by default"):
            optctx.attach(image=loaded_image(path))

    in_child(work)


def test_options_of_every_kind_have_their_values_or_are_refused(library: pathlib.Path) -> None:
    def work(small: Small) -> None:
        options = registry(small.image)
        # One that is read past a table alone.
        assert {options[name].scope for name in ("first-of-table", "second-of-table")} == {"thread"}
        with OptionContext({"second-of-table": 9}, image=small.image):
            assert (small.seen(), small.seen(1).split()[3]) == (str(Values()), "9")
        found = {name: (option.type, option.default, option.value) for name, option in options.items()}
        assert found["own-text"] == ("string", Values.own_text, Values.own_text)
        assert found["exported-text"] == ("string", "short", "short")
        assert found["own-texts"] == ("list", [], [])
        assert found["exported-location"] == ("uint", 2, 2)
        with pytest.raises(OptctxError, match="value invalid for uint argument"):
            OptionContext({"own-count": "many"}, image=small.image)
        with pytest.raises(ProcessWideOptionError, match="setting it runs a callback"):
            OptionContext({"with-callback": 7}, image=small.image)

    in_library(library, work)


def test_a_library_without_a_build_id_that_was_replaced_is_refused(tmp_path: pathlib.Path) -> None:
    """Its file tells of another layout. As it was, it is known by its content."""
    path, other = small(tmp_path / "libsmall.so", NO_ID), small(tmp_path / "other.so", *LIBCXX)

    def known() -> None:
        ctypes.CDLL(str(path)), ctypes.CDLL(str(other))
        first, second = loaded_image(path), loaded_image(other)
        assert len({first.build_id, second.build_id}) == 2

    def replaced() -> None:
        ctypes.CDLL(str(path))
        other.rename(path)
        with pytest.raises(UnsupportedImageError, match="is not the library that is loaded"):
            loaded_image(path)

    in_child(known)
    in_child(replaced)


def test_a_function_that_does_nothing_returns_at_once() -> None:
    assert all(map(processor.only_returns, (b"\xc3", b"\xf3\xc3", b"\xf3\x0f\x1e\xfa\xc3\x90")))
    assert not any(map(processor.only_returns, (b"\x90\xc3", b"\x55\xc3", b"\xf3\x0f\x1e\xfa\x55", b"")))
