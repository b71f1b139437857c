"""Threads that compile at once with different options: each gets what a fresh process gives."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest
from llvmlite import binding

from optctx import OptionContext
from optctx.compiling import FreshProcess, Job, Result, compile_job
from tests.support.ir_texts import CALLS, SCALE, X86
from tests.support.scopes import in_threads, scoped

ROUNDS = 60


# What the threads below may set, and to what.
CHOICES = {
    "unroll-count": (2, 3, 8),
    "unroll-runtime": ("true", "false"),
    "force-vector-width": (1, 2, 4, 8),
    "force-vector-interleave": (1, 2, 4),
    "vectorize-loops": ("true", "false"),
    "inline-threshold": (0, 20, 1000),
    "inline-max-stacksize": (8, 1 << 20),
    "prefer-predicate-over-epilogue": ("scalar-epilogue", "predicate-dont-vectorize"),
    "force-attribute": ("scale:cold", "callee:noinline", "caller:minsize"),
    "x86-asm-syntax": ("att", "intel"),
    "enable-tail-merge": ("true", "false"),
    "fast-isel": ("true", "false"),
}
JOBS = (
    Job(SCALE, triple=X86),
    Job(SCALE, triple=X86, cpu="skylake-avx512", emit="assembly"),
    Job(SCALE, triple="aarch64-unknown-linux-gnu", emit="assembly"),
    Job(CALLS, "forceattrs,default<O2>", triple=X86, emit="assembly"),
    Job(CALLS, triple="riscv64-unknown-linux-gnu", emit="assembly"),
)


def random_job(dice: random.Random) -> Job:
    chosen = dice.sample(sorted(CHOICES), dice.randint(0, 5))
    return replace(
        dice.choice(JOBS), options=tuple(f"-{name}={dice.choice(CHOICES[name])}" for name in chosen)
    )


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_with_random_options_get_what_a_fresh_process_gives(
    threads: int, fresh: FreshProcess
) -> None:
    seen: list[set[Result]] = [set() for _ in range(threads)]

    def work(number: int) -> None:
        dice = random.Random(number)
        for _ in range(ROUNDS // threads):
            job = random_job(dice)
            result = scoped(job)
            assert result.error is None
            assert result == fresh.compile(job), job.options
            seen[number].add(result)

    in_threads([partial(work, number) for number in range(threads)])
    # The options do something, and leave nothing behind.
    assert min(len(results) for results in seen) > ROUNDS // threads // 2
    assert all(compile_job(job) == fresh.compile(job) for job in JOBS)


def with_llvmlite_alone(text: str) -> str:
    """-O3 in llvmlite's own words and under its lock."""
    with binding.create_context() as context, binding.parse_assembly(text, context) as module:
        target = binding.Target.from_triple(X86)
        machine = target.create_target_machine(opt=2, codemodel="default")
        options = binding.create_pipeline_tuning_options(speed_level=3)
        builder = binding.create_pass_builder(machine, options)
        manager = builder.getModulePassManager()
        manager.run(module, builder)
        return str(machine.emit_assembly(module))


@pytest.mark.redirected
def test_code_that_knows_llvmlite_only_is_scoped_too() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    widths = (1, 2, 4, 8)
    contexts = {width: OptionContext({"force-vector-width": width}, base="defaults") for width in widths}
    plain = with_llvmlite_alone(SCALE)
    expected = {width: context.run(with_llvmlite_alone, SCALE) for width, context in contexts.items()}
    assert len(set(expected.values())) == len(widths)
    assert "mulps" in expected[4]
    assert "mulps" not in expected[1]

    def work(width: int) -> None:
        for _ in range(10):
            with contexts[width]:
                assert with_llvmlite_alone(SCALE) == expected[width]
            assert with_llvmlite_alone(SCALE) == plain

    in_threads([partial(work, width) for width in widths])


def test_what_llvmlite_gives_inside_is_what_a_process_with_the_options_gives() -> None:
    from tests.support.processes import run_python

    wanted = run_python("""
        from llvmlite import binding
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        binding.set_option("", "-force-vector-width=8")
        from tests.support.ir_texts import SCALE
        from tests.promises.test_parallel import with_llvmlite_alone
        print(with_llvmlite_alone(SCALE), end="")
        import optctx.engine.attach
        assert optctx.engine.attach.attached() is None
    """)
    with OptionContext({"force-vector-width": 8}, base="defaults"):
        assert with_llvmlite_alone(SCALE) == wanted
