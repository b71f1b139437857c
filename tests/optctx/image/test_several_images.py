"""Several LLVMs in one process: scopes, bindings and process-wide changes of one leave the others alone."""

from __future__ import annotations

import ctypes
import pathlib
from contextvars import copy_context
from functools import partial
from typing import Any, NamedTuple

import pytest
from llvmlite.binding import ffi

import optctx
from optctx import OptionContext, UnsupportedImageError, _native, loaded_image
from optctx._native import MAX_IMAGES, held
from optctx.engine.attach import attach, attached, detach, engines
from optctx.engine.engine import Engine
from optctx.image.loaded import Image
from tests.support.alone import alone
from tests.support.bare_llvm import BareLlvm
from tests.support.cpp_build import SHARED, compile_cpp
from tests.support.scopes import in_threads, running, unrolled, unrolled_by_llvmlite

Digests = dict[str, dict[str, str]]


class Two(NamedTuple):
    """`second` and its engine `other`, of the copy; `first` and its engine `own`, of llvmlite's LLVM."""

    other: Engine
    own: Engine
    second: BareLlvm
    first: BareLlvm


def context_of(engine: Engine, *arguments: str, **more: Any) -> OptionContext:
    return OptionContext.from_args(arguments, base=optctx.current(engine.image), **more)


@pytest.fixture(scope="module")
def copy(second_library: pathlib.Path) -> pathlib.Path:
    # What looks up in either.
    compile_cpp("lookups.cpp", second_library.with_name("lookups.so"), *SHARED, "-O0")
    return second_library


def each_image_has_an_engine_of_its_own(two: Two, expected: Digests) -> None:
    other, own, second, first = two
    assert (other.index, own.index) == (0, 1), "in the order in which they were attached"
    assert [engine.index for engine in engines()] == [0, 1]
    assert attached() is attach() is own, "the default, however it was attached"
    assert attached(other.image) is attach(other.image) is other
    assert [each["path"] for each in optctx.info()["images"]] == [second.path, ffi.lib._name]
    assert other.options["unroll-count"].address != own.options["unroll-count"].address
    assert second.digests() == first.digests() == expected[""], "attaching changes nothing"
    with context_of(own, "-unroll-count=4"):
        assert unrolled_by_llvmlite() == 4
    scope = context_of(other, "-unroll-count=2")
    detach(other.image)
    assert (attached(other.image), attached()) == (None, own)
    with scope:  # attaches again
        assert attached(other.image) is other
        assert second.digests() == expected["-unroll-count=2"]


def a_task_takes_its_scopes_of_both_images_along(two: Two, expected: Digests, follows: bool) -> None:
    """Where switches are followed, to whatever it calls; otherwise to what optctx compiles."""
    other, own, second, first = two
    follows = follows and not _native.watch_context_switches()

    def value(llvm: BareLlvm) -> str:
        found = llvm.digests()
        return next(argument for argument, each in expected.items() if each == found)

    def values() -> list[str]:
        return [value(first), value(second)]

    scope, three = (context_of(own, f"-unroll-count={count}") for count in (2, 3))
    four, five = (context_of(other, f"-unroll-count={count}") for count in (4, 5))
    copies = {}
    with scope, four:
        copies[2, 4] = copy_context()
    with five:
        copies[1, 5] = copy_context()

    def work(mine: int, its: int) -> None:
        copy = copies[mine, its]
        assert run_in(copy, unrolled) == mine, (mine, its)
        if follows:
            wanted = [f"-unroll-count={mine}" if mine > 1 else "", f"-unroll-count={its}"]
            assert run_in(copy, values) == wanted
            run_in(copy, three.__enter__)  # on top of what was carried here
            assert run_in(copy, values) == ["-unroll-count=3", wanted[1]]
            run_in(copy, lambda: three.__exit__(None, None, None))
        assert values() == ["", ""]
        assert unrolled() == 1

    with running(follows) as run_in:
        in_threads([partial(work, *numbers) for numbers in copies])
    assert not any(held().values()), held()


def cpp_code_names_the_image_that_it_means(two: Two) -> None:
    other, own, second, first = two
    cpp = ctypes.CDLL(str(pathlib.Path(second.path).with_name("lookups.so")))
    for name in ("look_up_at", "look_up_in_scope_at", "look_up"):
        getattr(cpp, name).restype = ctypes.c_char_p
    cpp.look_up_at.argtypes = cpp.look_up_in_scope_at.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    functions = [llvm.library.LLVMPY_ContextCreate for llvm in (first, second)]
    mine, its = (ctypes.cast(function, ctypes.c_void_p).value for function in functions)
    nowhere = cpp.look_up_at(id(None), b"unroll-count")
    assert nowhere.startswith(b"1: optctx has not attached to the library with code at this address")
    with context_of(own, "-unroll-count=2"), context_of(other, "-unroll-count=4"):
        assert cpp.look_up_at(mine, b"unroll-count") == b"=2"
        assert cpp.look_up_at(its, b"unroll-count") == b"=4"
        assert cpp.look_up(b"unroll-count", b"unsigned") == b"=2", "llvmlite's where none is named"
        assert cpp.look_up_in_scope_at(its, b"unroll-count") == b"=6 2"
        assert cpp.look_up_in_scope_at(mine, b"unroll-count") == b"=6 6"
    assert cpp.look_up_at(its, b"unroll-count") == b"=0"


@alone
def test_two_images_in_one_process(copy: pathlib.Path, second_digests: Digests) -> None:
    second, first = BareLlvm(copy), BareLlvm(ffi.lib._name)  # loads the copy
    two = Two(attach(loaded_image(copy)), attach(loaded_image(ffi.lib._name)), second, first)
    each_image_has_an_engine_of_its_own(two, second_digests)
    cpp_code_names_the_image_that_it_means(two)
    for follows in (False, True):
        a_task_takes_its_scopes_of_both_images_along(two, second_digests, follows)


@alone
def test_more_images_than_there_is_room_for_are_refused() -> None:
    class Made(Image):
        path = "libmade.so"

        def __init__(self) -> None:
            self._index = None

    images = [Made() for _ in range(MAX_IMAGES)]
    assert [each.index for each in images] == list(range(MAX_IMAGES))
    assert images[3].index == 3
    with pytest.raises(UnsupportedImageError) as caught:
        _ = Made().index
    assert "expected at most 8 LLVMs in a process" in str(caught.value)
    assert "libmade.so" in str(caught.value)
