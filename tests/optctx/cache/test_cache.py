"""The compile cache: never wrong, and no miss for options that nothing reads."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from llvmlite import binding

import optctx
from optctx import CompileCache, OptionContext
from optctx.compiling import FreshProcess, Job, Result, compile_job
from tests.support.cache_folders import counts, unrolled
from tests.support.examples import examples
from tests.support.ir_texts import CALLS, COUNTED, SCALE, X86
from tests.support.processes import forked, in_child

FEATURES = binding.get_host_cpu_features()
# Read by nothing that works on these modules.
IRRELEVANT = {"amdgpu-enable-delay-alu": False, "hexagon-vector-combine": False, "asan-stack": False}
ATTRIBUTED = COUNTED.replace("@count(ptr %out) {", '@count(ptr %out) "optctx"="-unroll-count=4" {')


@pytest.fixture
def cache(tmp_path: Path) -> CompileCache:
    return CompileCache(tmp_path / "cache")


def test_options_that_nothing_reads_share_an_entry_and_others_miss(cache: CompileCache) -> None:
    assert [unrolled(cache), counts(cache)] == [1, (0, 1)]
    with OptionContext(IRRELEVANT):
        assert [unrolled(cache), counts(cache)] == [1, (1, 1)]
    with OptionContext({"unroll-count": 4}):
        assert [unrolled(cache), counts(cache)] == [4, (1, 2)]
        with OptionContext(IRRELEVANT):
            assert [unrolled(cache), counts(cache)] == [4, (2, 2)]
    with OptionContext({"unroll-count": 2}):
        assert [unrolled(cache), counts(cache)] == [2, (2, 3)]
    assert [unrolled(cache), counts(cache)] == [1, (3, 3)]
    with OptionContext({"unroll-count": 4, "unroll-runtime-epilog": True}):  # read where loops are unrolled
        assert [unrolled(cache), counts(cache)] == [4, (3, 4)]


def test_text_bitcode_and_modules_are_taken_and_left_as_they_are(cache: CompileCache) -> None:
    with binding.create_context() as context, binding.parse_assembly(COUNTED, context) as module:
        before = str(module)
        with OptionContext({"unroll-count": 4}):
            assert unrolled(cache, module) == unrolled(cache, module.as_bitcode()) == unrolled(cache) == 4
        assert str(module) == before
    assert counts(cache) == (1, 2)  # a module is its bitcode; text is another input


def test_pipeline_target_and_emission_are_part_of_the_input_and_a_result_comes_back_whole(
    cache: CompileCache,
) -> None:
    inputs: list[dict[str, Any]] = [
        {},
        {"passes": "default<O1>"},
        {"cpu": "skylake-avx512"},
        {"features": "+avx2"},
        {"triple": "aarch64-unknown-linux-gnu"},
        {"opt_level": 0},
        *({"emit": emit} for emit in ("assembly", "ir", "none")),
    ]
    for fields in inputs:
        fields = {"triple": X86, **fields}
        made, found = cache.compile(SCALE, **fields), cache.compile(SCALE, **fields)
        assert made == found == compile_job(Job(SCALE, **fields))
    assert counts(cache) == (len(inputs), len(inputs))


@forked
def test_what_is_compiled_under_an_option_that_prints_is_compiled_every_time(cache: CompileCache) -> None:
    """Given to a scope, to the process, or turned on by another one."""
    for name in ("pass-remarks", "debug-only"):
        with OptionContext({name: "nothing"}):
            assert unrolled(cache) == unrolled(cache) == 1
    for name in ("stats", "print-after=no-pass"):
        binding.set_option("", f"-{name}")
        unrolled(cache)
    assert counts(cache) == (0, 0)
    assert cache.skipped == {"pass-remarks": 2, "debug": 2, "stats": 1, "print-after": 1}
    assert "0 hits, 0 misses, not cached because of debug, pass-remarks, print-after, stats" in repr(cache)


@pytest.mark.usefixtures("attributes")
def test_a_function_attribute_counts_with_what_it_inherits(cache: CompileCache) -> None:
    for overrides in ({}, {"unroll-count": 2}, IRRELEVANT):
        with OptionContext(overrides):
            assert unrolled(cache, ATTRIBUTED) == 4
    assert cache.hits >= 1
    with OptionContext({"unroll-threshold": 1}):  # set outside, read inside the attribute's scope: to the end
        misses = cache.misses
        assert unrolled(cache, ATTRIBUTED) == 840
        assert cache.misses == misses + 1


def test_whether_attributes_count_and_what_they_may_set_is_part_of_the_key(cache: CompileCache) -> None:
    seen = []
    for mode, trust in (("ignore", "tuning"), ("error", "tuning"), ("warn", "output"), ("ignore", "output")):
        optctx.attach(attributes=mode, trust=[trust])  # type: ignore[arg-type]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optctx.UntrustedOptionWarning)
            seen.append(unrolled(cache, ATTRIBUTED))
    optctx.attach(attributes="ignore", trust=["tuning"])
    assert seen[0] == seen[2] == seen[3] != seen[1]
    assert counts(cache) == (1, 3)


def test_the_content_of_a_file_that_an_option_names_counts(cache: CompileCache, tmp_path: Path) -> None:
    names = tmp_path / "public"
    seen = []
    for content in ("callee\n", "caller\n", "callee\n"):
        names.write_text(content)
        source = CALLS.replace("internal ", "")
        with OptionContext({"internalize-public-api-file": str(names)}):
            seen.append(cache.compile(source, "internalize", triple=X86, emit="ir").ir)
    assert seen[0] == seen[2] != seen[1]
    assert counts(cache) == (1, 2)


def test_any_number_of_threads_and_a_child_may_use_it(cache: CompileCache, fresh: FreshProcess) -> None:
    contexts = [OptionContext({"unroll-count": count}) for count in range(1, 5)]

    def work(number: int) -> Result:
        with contexts[number % 4]:
            return cache.compile(COUNTED, triple=X86)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(40)))
    for number, context in enumerate(contexts):
        reference = fresh.compile(Job(COUNTED, options=tuple(context.args()), triple=X86))
        assert len(results[number::4]) == 10
        assert all(result == reference for result in results[number::4])
    assert sum(counts(cache)) == 40
    assert cache.hits >= 40 - 4 * 4  # each may be compiled by every thread at once, but no more

    def child() -> None:
        assert (work(0) == results[0], sum(counts(cache))) == (True, 41)

    in_child(child)


# Values that LLVM survives, of options that matter here and of others.
VALUES: dict[str, list[object]] = {
    "unroll-count": [0, 2, 3, 4],
    "force-vector-width": [1, 2, 4],
    "inline-threshold": [0, 225, 500],
    "align-all-blocks": [0, 4],
    "hexagon-vector-combine": [True, False],
    "unroll-allow-partial": [True, False],
    "unroll-threshold": [0, 150, 4000],
    "vectorize-loops": [True, False],
}
overrides = st.fixed_dictionaries({}, optional={name: st.sampled_from(v) for name, v in VALUES.items()})


@examples(20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([SCALE, CALLS, COUNTED]), st.sampled_from([X86, "aarch64"]), overrides, overrides)
def test_it_is_never_wrong(
    shared: CompileCache, source: str, triple: str, first: dict[str, object], second: dict[str, object]
) -> None:
    for values in (first, {**first, **second}, first):
        hits = shared.hits
        with OptionContext(values):
            assert shared.compile(source, triple=triple) == compile_job(Job(source, triple=triple))
    assert shared.hits == hits + 1, "what it has made it finds"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> CompileCache:
    return CompileCache(tmp_path_factory.mktemp("cache"))


@forked
def test_what_others_set_process_wide_counts(cache: CompileCache) -> None:
    assert unrolled(cache) == 1
    binding.set_option("", "-unroll-count=3")
    assert (unrolled(cache), cache.hits) == (3, 0)
    with OptionContext(base="defaults"):
        assert (unrolled(cache), cache.hits) == (1, 1)
    binding.set_option("", "-hexagon-vector-combine=false")
    assert (unrolled(cache), cache.hits) == (3, 2)
    binding.set_option("", "-stats=false")  # nobody sees whether that is read
    assert (unrolled(cache), cache.hits) == (3, 2)


@forked
def test_what_llvm_copies_for_good_at_first_use_is_never_found(cache: CompileCache, tmp_path: Path) -> None:
    """Which value it copied, and of a file which content, depends on when this process first compiled."""
    assert (unrolled(cache), unrolled(cache)) == (1, 1)
    assert counts(cache) == (1, 1)
    (tmp_path / "data").touch()
    binding.set_option("", f"-codegen-data-use-path={tmp_path / 'data'}")
    assert (unrolled(cache), unrolled(cache)) == (1, 1)
    assert counts(cache) == (1, 3)


def test_what_was_compiled_for_the_processor_of_another_machine_is_not_found(
    cache: CompileCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = cache.compile(COUNTED, cpu="native")
    assert (cache.compile(COUNTED, cpu="native"), counts(cache)) == (here, (1, 1))
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "x86-64")
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: type(FEATURES)())
    assert cache.compile(COUNTED, cpu="native") == compile_job(Job(COUNTED, cpu="x86-64"))
    assert counts(cache) == (1, 2)


def test_a_cache_has_a_size_and_can_be_emptied(tmp_path: Path) -> None:
    for cache in (CompileCache(tmp_path / "small", size_limit=100), CompileCache(tmp_path / "emptied")):
        unrolled(cache)
        if "emptied" in repr(cache):
            cache.clear()
        assert [unrolled(cache), counts(cache)] == [1, (0, 2)]
