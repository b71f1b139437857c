"""llvmlite's pass managers, pass builders and JITs: made under some options, used under others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from llvmlite import binding

from optctx import ContextMismatchError, OptionContext, record
from optctx.hosts.llvmlite.ffi_calls import Watched, function_names
from optctx.hosts.llvmlite.recipes import CHANGES, MAKES, RUNS_MANAGER
from optctx.hosts.llvmlite.tuning_options import settings_of
from tests.support.alone import alone
from tests.support.ir_texts import CALLS, COUNTED, counted
from tests.support.processes import in_child
from tests.support.rows import rows
from tests.support.scopes import in_threads

pytestmark = pytest.mark.usefixtures("attached")

TWO_WAYS = """
declare void @g(i32)
define void @f(i1 %c) {
  br i1 %c, label %a, label %b
a:
  call void @g(i32 1)
  br label %m
b:
  call void @g(i32 2)
  br label %m
m:
  ret void
}
declare void @h()
define void @once() {
  %p = alloca i1
  store i1 true, ptr %p
  %c = load i1, ptr %p
  br i1 %c, label %a, label %b
a:
  ret void
b:
  call void @h()
  ret void
}
"""
# LLVM reads each while it builds `default<O3>`, and not again.
INLINE = {"inline-threshold": 0}
OTHER = {"inline-threshold": 1000, "vectorize-loops": False}


def machine() -> Any:
    return binding.Target.from_default_triple().create_target_machine(opt=3)


def default_pipeline() -> tuple[Any, Any]:
    builder = binding.create_pass_builder(machine(), binding.create_pipeline_tuning_options(3))
    return builder, builder.getModulePassManager()


def by_hand() -> tuple[Any, Any]:
    """LLVM reads `sink-common-insts` when it makes the second pass, which has to come after the first."""
    builder = binding.create_pass_builder(machine(), binding.create_pipeline_tuning_options(3))
    manager = binding.create_new_module_pass_manager()
    manager.add_sroa_pass()
    manager.add_simplify_cfg_pass()
    return builder, manager


def run(made: tuple[Any, Any], llvm_context: Any = None, source: str = CALLS) -> str:
    builder, manager = made
    with binding.parse_assembly(source, llvm_context or binding.create_context()) as module:
        manager.run(module, builder)
        return str(module)


def calls(text: str) -> int:
    return len(re.findall("call .*@callee", text))


@rows(
    ("fill", "source", "options", "does"),
    [
        (default_pipeline, CALLS, INLINE, lambda text: calls(text) == 2),
        (by_hand, TWO_WAYS, {"sink-common-insts": True}, lambda text: text.count("call void @g") == 1),
    ],
)
def test_a_manager_has_the_values_of_where_it_runs_any_number_of_times(
    fill: Callable[[], tuple[Any, Any]],
    source: str,
    options: dict[str, object],
    does: Callable[[str], bool],
) -> None:
    def text(made: tuple[Any, Any], within: AbstractContextManager[object]) -> str:
        with within:
            return run(made, source=source)

    context, other, outside = OptionContext(options), OptionContext(OTHER), nullcontext()
    plain, scoped = text(fill(), outside), context.run(lambda: text(fill(), outside))
    assert (does(plain), does(scoped)) == (False, True)
    assert "alloca i1" not in plain + scoped
    assert "call void @h" not in plain + scoped, "the second pass comes after the first"
    made_outside = fill()
    with context:
        inside, used_up = fill(), fill()
        assert text(used_up, outside) == scoped
    every = (made_outside, inside, used_up)

    def use() -> None:
        assert [text(made, context) for made in every] == [scoped] * 3

    for _ in range(2):  # LLVM uses up the manager that it runs
        with other:
            use()
        assert [text(made, other) for made in every] == [plain] * 3
        assert text(inside, outside) == plain
    in_threads([use])
    in_child(use)
    assert text(made_outside, outside) == plain


def test_a_pass_that_was_added_under_other_values_has_those_in_force() -> None:
    context = OptionContext({"sink-common-insts": True})
    with context:
        builder = default_pipeline()[0]
        manager = binding.create_new_module_pass_manager()
    manager.add_simplify_cfg_pass()
    with context:
        assert run((builder, manager), source=TWO_WAYS).count("call void @g") == 1
    assert run((builder, manager), source=TWO_WAYS).count("call void @g") == 2


def test_a_bound_llvm_context_has_its_options_in_managers_made_anywhere() -> None:
    with OptionContext(INLINE):
        kept = run(default_pipeline())
    outside = default_pipeline()
    with OptionContext(OTHER):
        elsewhere = default_pipeline()
    with binding.create_context() as llvm_context:
        OptionContext(INLINE).bind(llvm_context)
        for made in (outside, elsewhere, default_pipeline()):
            assert run(made, llvm_context) == kept
        with OptionContext(OTHER):
            assert run(default_pipeline(), llvm_context) == kept


def test_tuning_options_keep_what_was_set_and_nothing_else() -> None:
    """`settings_of` takes a field for set whose value is not the default: none may follow an option."""
    flags = ("interleave-loops", "vectorize-loops", "vectorize-slp", "unroll-runtime")
    tried: list[Mapping[str, object]] = [{name: value} for name in flags for value in (False, True)]
    for options in (*tried, {"forget-scev-loop-unroll": True, "enable-merge-functions": True}, INLINE, OTHER):
        with OptionContext(options):
            made = binding.create_pipeline_tuning_options(3)
            assert settings_of(made) == (), options
    made.slp_vectorization = made.loop_unrolling = not made.slp_vectorization
    made.loop_unrolling = False
    assert dict(settings_of(made)) == {"SLPVectorization": True, "LoopUnrolling": False}
    builder = binding.create_pass_builder(machine(), made)
    assert "store volatile i64 840" not in run((builder, builder.getModulePassManager()), source=COUNTED)


def test_tuning_options_have_the_values_of_where_they_are_used() -> None:
    """LLVM reads `enable-merge-functions` when it makes them."""
    merging = OptionContext({"enable-merge-functions": True})
    twins = counted("one") + counted("other")
    seen = []
    for made_in, used_in in ((nullcontext(), merging), (merging, nullcontext())):
        with made_in:
            tuning = binding.create_pipeline_tuning_options(3)
        with used_in:
            builder = binding.create_pass_builder(machine(), tuning)
            seen.append("tail call" in run((builder, builder.getModulePassManager()), source=twins))
    assert seen == [True, False]


def test_what_cannot_be_made_again_is_refused_by_name_and_nothing_runs() -> None:
    with OptionContext(OTHER):
        target = machine()
        builder = binding.create_pass_builder(target, binding.create_pipeline_tuning_options(3))
        made = builder, builder.getModulePassManager()
    target.close()
    other = default_pipeline()[0]
    for scope, words in (
        (OptionContext(INLINE), "inline-threshold.*is closed"),
        (nullcontext(), "outside any"),
    ):
        with scope, pytest.raises(ContextMismatchError, match=words):
            run((other, made[1]))
    assert calls(run(default_pipeline())) == 0


@alone
def test_objects_older_than_optctx_are_refused_inside_scopes_and_as_ever_outside() -> None:
    binding.initialize_native_target()
    builder, manager = default_pipeline()
    functions = binding.create_new_function_pass_manager()
    functions.add_sroa_pass()
    module = binding.parse_assembly("define void @f() { ret void }")
    function = module.get_function("f")
    with OptionContext(inline_threshold=3):
        late = builder.getModulePassManager()  # of a builder that is older
        runs = (("module", manager, module), ("module", late, module), ("function", functions, function))
        for what, refused, subject in runs:
            with pytest.raises(ContextMismatchError, match=f"{what} pass manager .*older than the first use"):
                refused.run(subject, builder)
    manager.run(module, builder)
    functions.run(function, builder)


def test_reads_of_the_making_are_recorded_where_the_manager_runs() -> None:
    made = default_pipeline()
    with OptionContext(INLINE, unread="error"), record() as log:
        run(made)
    assert "getInlineParams" in " ".join(log.reads["inline-threshold"].functions)


def test_every_function_of_this_llvmlite_that_makes_or_changes_a_manager_is_watched() -> None:
    names = set(function_names())
    named = {name for name in names if re.search("Pass(Manager|Builder|es)?|Pipeline", name)}
    known = {name for name in names if CHANGES.fullmatch(name)} | MAKES.keys() | RUNS_MANAGER.keys()
    harmless = {
        "LLVMPY_SetTimePasses",
        "LLVMPY_CreateTimePassesHandler",
        "LLVMPY_DisposeTimePassesHandler",
        "LLVMPY_ReportAndDisableTimePasses",
        "LLVMPY_AddAnalysisPasses",  # of legacy pass managers, which no function makes
        "LLVMPY_AddTargetLibraryInfoPass",
        *(made.disposer for made in MAKES.values()),
    }
    assert named - known - harmless == set()
    from llvmlite.binding import ffi

    assert all(isinstance(getattr(ffi.lib, name)._cfn, Watched) for name in known & names)
