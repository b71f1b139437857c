"""The way of running without a changed instruction: threads with different values take turns.

Everything runs in processes of its own, because a process keeps the way that it began with.
"""

from __future__ import annotations

import pathlib

import pytest
from ir_texts import SCALE
from support import run_python


@pytest.fixture(autouse=True)
def _chosen_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTCTX_ENGINE", "exclusive")


def test_it_says_so_and_changes_no_code_and_can_be_detached() -> None:
    run_python("""
        import optctx
        from optctx.engine.attach import attached
        from support import changed_code, unrolled
        info = optctx.info()
        assert (info["engine"], info["engine_reason"]) == ("exclusive", "OPTCTX_ENGINE=exclusive")
        assert info["images"][0]["sites"]["redirected"] == 0
        for round in range(2):
            with optctx.OptionContext(unroll_count=4):
                assert unrolled() == 4 and changed_code() == []
                try:
                    optctx.detach()
                except optctx.ScopeError as error:
                    assert "1 scope is still entered" in str(error)
                else:
                    raise AssertionError("detached under a scope")
            optctx.detach()
            assert attached() is None and unrolled() == 1
    """)


def settable() -> set[str]:
    """Option names that a process of its own can scope: this one must not attach as a test chose."""
    found = run_python("""
        from optctx import registry
        print(*(name for name, option in registry().items() if option.scope != "process"))
    """)
    return set(found.split())


@pytest.mark.redirected
def test_the_same_options_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    in_turns = settable()
    monkeypatch.setenv("OPTCTX_ENGINE", "thread")
    assert settable() - in_turns == {"debug"}  # a thread cannot be told apart where nothing is redirected
    assert len(in_turns) > 2000


def test_every_kind_of_option_does_what_it_does_in_a_fresh_process() -> None:
    run_python("""
        from dataclasses import replace
        from optctx.fresh import FreshProcess, compile_job
        from support import process_state, scoped
        from test_option_types import CASES
        before = process_state()
        with FreshProcess() as fresh:
            for case in CASES:
                job = replace(case.job, options=tuple(case.options.split()))
                plain, wanted = fresh.compile(case.job), fresh.compile(job)
                assert wanted != plain and wanted.error is None
                assert compile_job(case.job) == plain, case
                assert scoped(job) == wanted, case
                assert compile_job(case.job) == plain, case
                assert process_state() == before
    """)


def test_what_llvm_copies_at_first_use_is_copied_again_in_every_scope() -> None:
    run_python("""
        from dataclasses import replace
        from optctx.fresh import FreshProcess
        from support import CALLS, scoped
        from test_option_types import assembly
        jobs = [assembly(CALLS, options=(f"-regalloc={name}",)) for name in ("fast", "basic", "greedy")]
        with FreshProcess() as fresh:
            wanted = [fresh.compile(job) for job in jobs]
        assert wanted[0] != wanted[2]
        for number in (0, 2, 1, 0, 0, 2):
            assert scoped(jobs[number]) == wanted[number], number
    """)


def test_all_of_llvms_data_is_as_it_was_to_the_byte() -> None:
    run_python("""
        from optctx import OptionContext, registry
        from test_process_wide import MADE_ONCE, changed, llvm_data
        values = {"bool": "true", "boolOrDefault": "true", "float": "0.5", "double": "0.5", "string": "text"}
        overrides = {}
        for name, option in registry().items():
            if option.scope == "process" or option.alias_of or option.type == "other":
                continue
            choices = list(option.choices)
            value = choices[-1] if choices else values.get(option.type, "1")
            value = choices if option.type == "set" else value
            try:
                OptionContext({name: value}, base="defaults")
            except Exception:
                continue
            overrides[name] = value
        assert len(overrides) > 2400, len(overrides)
        context = OptionContext(overrides, base="defaults")
        before = llvm_data()
        with context:
            assert len(changed(before, llvm_data())) > 2000
            with OptionContext(unroll_count=7, base="defaults"), context:
                pass
        assert changed(before, llvm_data()) <= MADE_ONCE
    """)


def test_scopes_nest_and_what_llvm_writes_inside_stays_inside() -> None:
    run_python("""
        from optctx import OptionContext, current, registry
        from support import process_state
        from test_containment import JOB, TABLE, WRITER, compile_job
        before, plain = process_state(), compile_job(JOB)
        entries = lambda: registry()["min-jump-table-entries"].value

        def has_table():
            return TABLE in compile_job(JOB).code.decode()

        with OptionContext(unroll_count=2) as outer:
            assert has_table()
            assert compile_job(WRITER).error is None
            assert not has_table()  # as in a process of its own
            with OptionContext(unroll_count=3) as inner:
                assert has_table() and current() is inner
                assert compile_job(WRITER).error is None
                assert not has_table()
            assert current() is outer and not has_table()
            assert entries() == 4 and process_state() == before
        assert process_state() == before and compile_job(JOB) == plain
        with outer:
            assert has_table()
    """)


def test_strings_and_lists_come_and_go_ten_thousand_times() -> None:
    run_python("""
        import resource
        from optctx import OptionContext
        from support import process_state
        before = process_state()
        outer = OptionContext(internalize_public_api_list=["f", "g"], pass_remarks="x", base="defaults")
        inner = OptionContext(asan_memory_access_callback_prefix="p" * 99, base=outer)

        def enter(times):
            for _ in range(times):
                with outer, inner:
                    pass

        enter(100)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        enter(10_000)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 4096  # KB
        with outer, inner:
            assert inner["internalize-public-api-list"] == ["f", "g"]
        assert process_state() == before
    """)


def test_a_best_set_cannot_become_attributes_and_no_search_begins(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kernel.ll").write_text(SCALE)
    run_python(f"""
        import contextlib, io, os
        from optctx import OptctxError
        from optctx.cli.main import main
        from optctx.tuning.marking import marked_and_tried
        from tuning_cases import JOB

        words = ["tune", "kernel.ll", "--set", "unroll-count=1,2", "--emit-ir", "best.ll", "--study", "x.db"]
        os.chdir({str(tmp_path)!r})
        with contextlib.redirect_stderr(io.StringIO()) as err:
            assert main(words) == 2
        told = err.getvalue()
        assert told.startswith("optctx: cannot write the best set as attributes of functions: threads take")
        assert told.endswith("; keep the set with --best\\n"), told
        try:
            marked_and_tried(JOB, {{"unroll-count": "2"}})
        except OptctxError as error:
            assert str(error) in told
        else:
            raise AssertionError("it was written")
    """)
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.ll"]
