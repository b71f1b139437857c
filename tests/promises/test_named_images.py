"""Every public function that is about an LLVM takes `image`: a second one of the process, by its library."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from llvmlite import binding
from llvmlite.binding import ffi

import optctx
from optctx import OptionContext, OptionTypeError, UnsupportedImageError, loaded_image
from tests.support.alone import alone
from tests.support.bare_llvm import BareLlvm
from tests.support.scopes import in_threads, unrolled


@alone
def test_contexts_of_a_named_image_reach_that_one_alone(
    second_library: pathlib.Path, second_digests: dict[str, dict[str, str]]
) -> None:
    second = BareLlvm(second_library)
    image = loaded_image(second_library)
    assert image is loaded_image("libsecond.so")
    assert optctx.current(image)["unroll-count"] == optctx.lookup("unroll-count", image=image) == 0

    def compiled(count: int) -> None:
        made = [
            OptionContext(unroll_count=count, image=image),
            OptionContext.from_args(f"-unroll-count={count}", image=image),
            optctx.tool(["-unroll-count", str(count)], image=image),
        ]
        assert made[0] == made[1]
        for context in made:
            with context:
                assert second.digests() == second_digests[f"-unroll-count={count}"]
                assert unrolled() == 1
                assert optctx.current()["unroll-count"] == 0
                assert optctx.lookup("unroll-count", int, image=image) == count
                assert optctx.current(image).overrides == {"unroll-count": count}

    in_threads([partial(compiled, count) for count in (2, 3)])
    with OptionContext(unroll_count=2), OptionContext(unroll_count=4, image=image):
        wrapped = optctx.wrap(lambda: (unrolled(), second.digests()))
        with optctx.propagating(ThreadPoolExecutor(1)) as pool:
            work = pool.submit(lambda: (unrolled(), second.digests()))
    assert wrapped() == work.result() == (2, second_digests["-unroll-count=4"])
    with OptionContext(unroll_count=3, image=image):
        own = optctx.wrap(second.digests)
    assert (own(), second.digests()) == (second_digests["-unroll-count=3"], second_digests[""])
    with OptionContext(unroll_count=4), optctx.contained(image):
        second.set_option("-unroll-count=3")
        assert unrolled() == 4
        assert second.digests() == second_digests["-unroll-count=3"]
    assert second.digests() == second_digests[""]


@alone
def test_what_is_asked_about_a_named_image_is_said_of_that_one(
    second_library: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    second, image = BareLlvm(second_library), loaded_image(second_library)
    path = str(second_library)
    assert [each["path"] for each in optctx.info(image)["images"]] == [path]
    assert path in repr(optctx.registry(image))
    assert list(optctx.registry(image)) == list(optctx.registry())
    events: list[optctx.DriftEvent] = []
    with optctx.watch(events.append, image=image):
        second.set_option("-unroll-count=3")
        optctx.attach()
    assert [event.name for event in events] == ["unroll-count"]
    assert set(optctx.drift(image)) == {"unroll-count"}
    assert not optctx.drift()
    with optctx.record(image) as log, optctx.record() as own:
        second.digests()
    assert "unroll-count" in log.names
    assert not own.names
    file = tmp_path / "kept.toml"
    OptionContext(inline_threshold=3, image=image).save(file)
    loaded = OptionContext.load(file, base="defaults", image=image)
    assert (loaded["unroll-count"], loaded["inline-threshold"]) == (3, 3)
    optctx.attach(image, attributes="warn")
    with OptionContext(image=image):
        with pytest.raises(optctx.ScopeError):
            optctx.detach(image)
        optctx.detach()
        assert not optctx.info(loaded_image(ffi.lib._name))["error"]
    optctx.detach(image)
    assert set(optctx.drift(image)) == {"unroll-count"}, "attached again"


@alone
def test_what_names_no_image_or_two_is_refused(second_library: pathlib.Path) -> None:
    BareLlvm(second_library)
    image = loaded_image(second_library)
    uses: list[Callable[[Any], object]] = [
        lambda wrong: OptionContext(image=wrong),
        lambda wrong: OptionContext.from_args("-unroll-count=4", image=wrong),
        lambda wrong: optctx.lookup("unroll-count", image=wrong),
        lambda wrong: optctx.record(wrong).__enter__(),
        lambda wrong: optctx.watch(print, image=wrong),
        *(optctx.attach, optctx.detach, optctx.registry, optctx.current, optctx.drift, optctx.info),
    ]
    for use in uses:
        with pytest.raises(OptionTypeError, match=r"image is what optctx\.loaded_image returns"):
            use("libsecond.so")
    with pytest.raises(OptionTypeError, match="give a base of the same LLVM"):
        OptionContext(base=OptionContext(unroll_count=4), image=image)
    with pytest.raises(TypeError, match="expected the address of an LLVMContext"):
        optctx.lookup("unroll-count", llvm_context=binding.get_global_context(), image=image)
    assert OptionContext(base=OptionContext(unroll_count=4), image=loaded_image(ffi.lib._name)).args() == []
    for name in ("libnone.so", second_library.parent / "other.so"):
        with pytest.raises(UnsupportedImageError, match="found none; load it first"):
            loaded_image(name)
    with pytest.raises(UnsupportedImageError, match="libc"):
        OptionContext(image=loaded_image("libc.so.6"))
