"""What LLVM gives for every set of options that a program can ask for, in processes that are not attached."""

from __future__ import annotations

from typing import NamedTuple

from llvmlite import binding

from optctx.children.pool import Pool
from optctx.compiling import Job, Result, compile_job, initialise_targets
from tests.promises.model import Key, every_key
from tests.support.ir_texts import COUNTED, UNROLL, X86

# A loop that is unrolled if `unroll-count` says so, and five cases: a jump table, unless
# `min-jump-table-entries` (4) says that is too few.
_CASES = "".join(
    f"c{case}:\n store volatile i32 {value}, ptr %out\n ret void\n"
    for case, value in enumerate((11, -7, 300, 5, 90))
)
_SWITCH = f"""\
  switch i32 %x, label %none [ i32 0, label %c0 i32 1, label %c1 i32 2, label %c2 i32 3, label %c3
                               i32 4, label %c4 ]
{_CASES}none:
  ret void
"""
_SWITCHED = COUNTED.replace("%out)", "%out, i32 %x)").replace("  ret void\n", _SWITCH)
JOB = Job(_SWITCHED, f"forceattrs,{UNROLL}", triple=X86, emit="assembly")
# Making this target's lowering sets `min-jump-table-entries`, for the whole process.
WRITER = Job(_SWITCHED, "default<O0>", triple="avr", emit="assembly")


class Answers(NamedTuple):
    """Of JOB by optctx's passes and emission, and of `by_llvmlite`."""

    optctx: dict[Key, Result]
    llvmlite: dict[Key, str]


def by_llvmlite() -> str:
    """Code that unrolls and emits as a program does that has never heard of optctx."""
    with (
        binding.create_context() as context,
        binding.parse_assembly(JOB.ir, context) as module,
        binding.Target.from_triple(X86).create_target_machine() as machine,
    ):
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
        manager = binding.create_new_module_pass_manager()
        manager.add_loop_unroll_pass()
        manager.run(module, builder)
        return str(machine.emit_assembly(module))


def known_answers() -> Answers:
    """From one child for each key, of a process that has not attached. Prepare LLVM in this process too."""
    _prepared()
    with Pool(_prepared) as pool:
        calls = {key: pool.call(_answer, key, gives=_Answer) for key in every_key()}
    found = {key: done.value for key, done in calls.items() if done.value is not None}
    assert len(found) == len(calls), [str(done.death or done.error) for done in calls.values()]
    answers = Answers(
        {key: each.optctx for key, each in found.items()}, {key: each.llvmlite for key, each in found.items()}
    )
    assert all(result.error is None for result in answers.optctx.values())
    alone = [result for key, result in answers.optctx.items() if len(key) < 2]
    assert len(set(alone)) == len(alone), "an option has no effect: this shows nothing"
    return answers


class _Answer(NamedTuple):
    optctx: Result
    llvmlite: str


def _prepared() -> None:
    initialise_targets()
    _ = compile_job(JOB), by_llvmlite()  # what LLVM makes once, no child has to make again


def _answer(_: None, key: Key) -> _Answer:
    """In a child."""
    for name, text in key:
        binding.set_option("", f"-{name}={text}")
    return _Answer(compile_job(JOB), by_llvmlite())
