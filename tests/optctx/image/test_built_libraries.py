"""An LLVM that people build: newer strings, slots of the global offset table, callbacks that do nothing.
And one that clang builds, with libc++ and ThinLTO.

The library is of the project's own making, with the shapes of LLVM 19 (tests/programs/cpp/small_llvm.cpp).
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import random
from collections.abc import Mapping
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
from optctx._native import Library, loaded_libraries
from optctx.arch import processor
from optctx.image.loaded import Image
from tests.support.audit import audit
from tests.support.cpp_build import SHARED, compile_cpp
from tests.support.processes import forked, in_child, output_of, printed

# As LLVM_BUILD_LLVM_DYLIB links; with callbacks that a compiler names otherwise; with libc++, as it may be,
# without optimisation and without a build id.
LIBCXX = ("-DLIBCXX", "-Wl,--build-id=none")
OTHER_LAYOUT = (*LIBCXX, "-DOTHER_LAYOUT")
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
    return built(tmp_path_factory.mktemp("small") / "libsmall.so", *request.param)


def built(out: pathlib.Path, *flags: str) -> pathlib.Path:
    """The library, built this way; "-s": without its symbol table."""
    compile_cpp("small_llvm.cpp", out, *SHARED, "-Wl,--build-id", *(flag for flag in flags if flag != "-s"))
    if "-s" in flags:
        output_of("strip", out)
    return out


# A process can attach to eight images: each test here has a child of fork.


@forked
def test_what_is_read_and_written_is_that_of_the_scope_of_its_thread(library: pathlib.Path) -> None:
    small = Small(library)
    registered = Values().context(small.image)

    def read(draw: random.Random) -> None:
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

    def write_texts(draw: random.Random) -> None:
        """The library assigns in place, frees the characters and takes others, or moves them."""
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

    def write_past_a_table(draw: random.Random) -> None:
        for _ in range(50):
            with registered:
                assert small.seen() == str(Values())
                small.library.set_numbers(count := draw.randrange(1000), first := draw.randrange(1000))
                assert small.seen() == str(Values(count=count, first=first))

    for one in (read, write_texts, write_past_a_table):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(one, map(random.Random, range(6))))
        assert small.seen() == str(Values()), one
    assert not optctx.drift(small.image)


@forked
def test_options_of_every_kind_have_their_values_or_are_refused(library: pathlib.Path) -> None:
    small = Small(library)
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


@forked
@pytest.mark.parametrize("levels", [False, True])
def test_each_scope_has_debug_output_of_its_own_types(tmp_path: pathlib.Path, levels: bool) -> None:
    small = Small(built(tmp_path / "libsmall.so", *WAYS[0], *["-DLEVELS"] * levels))
    types = ["licm", "a-type-of-more-than-fifteen-letters", "another-type-of-more-than-fifteen"]

    def debug(who: str) -> None:
        for kind in types:
            for level in range(3):
                small.library.debug(kind.encode(), level, f"{who} {kind} {level}\n".encode())

    def expected(who: str, wanted: Mapping[str, int]) -> list[str]:
        return [f"{who} {kind} {level}" for kind in types for level in range(wanted.get(kind, -1) + 1)]

    def scoped(number: int) -> list[str]:
        draw = random.Random(number)
        wanted = {kind: draw.randrange(3) if levels else 2 for kind in draw.sample(types, 1 + number % 3)}
        texts = [f"{kind}:{level}" if levels else kind for kind, level in wanted.items()]
        for _ in range(20):
            with OptionContext({"debug-only": ",".join(texts)}, image=small.image):
                debug(str(number))
            debug("outside")
        return expected(str(number), wanted) * 20

    def on_threads() -> list[str]:
        with ThreadPoolExecutor(4) as pool:
            return [line for lines in pool.map(scoped, range(12)) for line in lines]

    wanted: list[str] = []
    assert sorted(printed(lambda: wanted.extend(on_threads()))) == sorted(wanted)
    small.library.set_debug_only(",".join(types[:2]).encode())
    first_two = dict.fromkeys(types[:2], 2)
    assert printed(lambda: debug("outside")) == expected("outside", first_two)
    before = OptionContext({"own-count": 5}, image=small.image)
    small.library.set_debug_only(types[2].encode())
    for context, wanted_there in (
        (before, first_two),
        (OptionContext(image=small.image), dict.fromkeys(types, 2)),
    ):
        with context:
            assert printed(lambda: debug("beside")) == expected("beside", wanted_there)
    with OptionContext({"debug": False}, image=small.image):
        assert printed(lambda: debug("silent")) == []
    assert set(optctx.drift(small.image)) == {"debug", "debug-only"}


@forked
def test_each_instruction_that_clang_reads_with_is_redirected(tmp_path: pathlib.Path) -> None:
    small = Small(built(tmp_path / "libsmall.so", *LIBCXX))

    def seen() -> list[int]:
        found = (ctypes.c_uint * 11)()
        small.library.instructions_seen(found)
        return list(found)

    def expected(count: int) -> list[int]:
        low = count & 255
        flags = [int(low == 40), int(bool(low & 8)), int(count < 100_000)]
        return [*flags, low, *[count] * 3, (1 - count) % 2**32, *[count] * 2, (100_000 * count) % 2**32]

    def one(count: int) -> None:
        with OptionContext({"read-by-every-instruction": count}, image=small.image):
            assert seen() == expected(count)

    with audit(small.image) as found, ThreadPoolExecutor(4) as pool:
        list(pool.map(one, (0, 8, 40, 255, 99_999, 100_000, 2**31 - 1)))
    assert found.accesses == []
    assert found.regions > 5
    assert seen() == expected(40)


@forked
def test_what_options_of_libcxx_share_lives_as_long_as_one_refers_to_it(tmp_path: pathlib.Path) -> None:
    small = Small(built(tmp_path / "libsmall.so", *LIBCXX))
    pattern = small.library.pattern_seen
    pattern.restype = ctypes.c_char_p

    def one(text: str) -> None:
        context = OptionContext({"remarks": text}, image=small.image)
        for _ in range(20):
            with context:
                assert pattern() == text.encode()
                with OptionContext({"own-count": 5}, image=small.image):
                    assert pattern() == text.encode()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, TEXTS))
    assert pattern() == b""
    assert small.library.patterns_alive() == len(TEXTS), "no entry frees one, or makes one"


@forked
def test_a_libcxx_whose_strings_have_another_layout_is_refused(tmp_path: pathlib.Path) -> None:
    """As libc++ can be built: the characters first, and twice their number last."""
    with pytest.raises(UnsupportedImageError, match="is not laid out as libc\\+\\+'s are by default"):
        Small(built(tmp_path / "libsmall.so", *OTHER_LAYOUT))


def test_a_library_without_a_build_id_that_was_replaced_is_refused(tmp_path: pathlib.Path) -> None:
    """Its file tells of another layout. As it was, it is known by its content."""
    path, other = built(tmp_path / "libsmall.so", *LIBCXX), built(tmp_path / "other.so", *OTHER_LAYOUT)

    def known() -> None:
        ctypes.CDLL(str(path)), ctypes.CDLL(str(other))
        assert loaded_image(path).build_id != loaded_image(other).build_id

    def replaced() -> None:
        ctypes.CDLL(str(path))
        other.rename(path)
        with pytest.raises(UnsupportedImageError, match="is not the library that is loaded"):
            loaded_image(path)

    in_child(known)
    in_child(replaced)


@forked
def test_a_library_whose_file_has_another_build_id_is_refused(tmp_path: pathlib.Path) -> None:
    path, other = built(tmp_path / "libsmall.so"), tmp_path / "other.so"
    ctypes.CDLL(str(path))
    [base] = [base for each, base in loaded_libraries() if each == str(path)]
    own = bytes.fromhex(Library(os.fsencode(path), base).build_id)
    other.write_bytes(path.read_bytes().replace(own, bytes(len(own))))
    other.rename(path)
    with pytest.raises(UnsupportedImageError, match="is not the library that is loaded"):
        loaded_image(path)


def test_a_function_that_does_nothing_returns_at_once() -> None:
    assert all(map(processor.only_returns, (b"\xc3", b"\xf3\xc3", b"\xf3\x0f\x1e\xfa\xc3\x90")))
    assert not any(map(processor.only_returns, (b"\x90\xc3", b"\x55\xc3", b"\xf3\x0f\x1e\xfa\x55", b"")))
