"""The way of running without a changed instruction: threads with different values take turns.

Everything runs in processes of its own, because a process keeps the way that it began with.
"""

from __future__ import annotations

import textwrap

import pytest
from support import run_python

from optctx import registry


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
                    assert "1 scope(s) are still entered" in str(error)
                else:
                    raise AssertionError("detached under a scope")
            optctx.detach()
            assert attached() is None and unrolled() == 1
    """)


def test_the_same_options_can_be_set() -> None:
    settable = {name for name, option in registry().items() if option.scope != "process"}
    found = run_python("""
        from optctx import registry
        print(*(name for name, option in registry().items() if option.scope != "process"))
    """)
    assert set(found.split()) == settable


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


TURNS = """
    import threading, time
    from optctx import OptionContext, ScopeError, current, registry
    from optctx.fresh import compile_job
    from support import COUNTED, SECONDS, in_threads, process_state, scopes_become, unrolled
    before = process_state()
"""


def turns(text: str) -> str:
    return textwrap.dedent(TURNS) + textwrap.dedent(text)


def test_threads_with_different_values_take_turns_and_all_get_theirs() -> None:
    run_python(
        turns("""
        inside = []

        def work(count):
            context = OptionContext(unroll_count=count, base="defaults")
            for round in range(30):
                with context:
                    inside.append(count)
                    assert set(inside) == {count}, inside
                    assert unrolled() == count
                    inside.remove(count)

        in_threads([lambda count=count: work(count) for count in (2, 3, 4, 5)])
        assert process_state() == before
        """)
    )


def test_threads_with_the_same_values_are_inside_at_once() -> None:
    run_python(
        turns("""
        both = threading.Barrier(3, timeout=SECONDS)

        def work():
            with OptionContext(unroll_count=4, base="defaults"):  # each its own, with the same values
                both.wait()
                assert unrolled() == 4
                both.wait()

        in_threads([work] * 3)
        assert process_state() == before
        """)
    )


def test_nested_scopes_in_a_shared_one_never_block_each_other() -> None:
    run_python(
        turns("""
        outer = OptionContext(inline_threshold=1, base="defaults")
        both = threading.Barrier(3, timeout=SECONDS)

        def work(count):
            with outer:
                both.wait()  # all of them are inside, and all of them want another scope now
                for round in range(20):
                    with OptionContext(unroll_count=count) as inner:
                        assert (inner["inline-threshold"], unrolled()) == (1, count)
                        with outer:
                            assert unrolled() == 1
                        assert current() is inner and unrolled() == count
                    assert current() is outer and unrolled() == 1

        in_threads([lambda count=count: work(count) for count in (2, 3, 4)])
        assert process_state() == before
        """)
    )


def test_first_come_first_served_and_compilations_outside_wait_too() -> None:
    run_python(
        turns("""
        from optctx._native import begin_compilation, end_compilation
        order = []

        def enter(count):
            with OptionContext(unroll_count=count, base="defaults"):
                order.append(count)

        def compile():
            begin_compilation()  # as `run_passes` does
            order.append(1)
            end_compilation()

        works = [lambda: enter(3), compile, lambda: enter(4), lambda: enter(3)]
        threads = [threading.Thread(target=work) for work in works]
        with OptionContext(unroll_count=2):
            for thread in threads:
                thread.start()
                time.sleep(0.3)
            assert order == []
        for thread in threads:
            thread.join(SECONDS)
        assert order == [3, 1, 4, 3]
        """)
    )


def test_what_is_process_wide_is_not_what_another_thread_is_inside_of() -> None:
    run_python(
        turns("""
        inside, leave = threading.Event(), threading.Event()

        def stay():
            with OptionContext(unroll_count=4, internalize_public_api_list="f", base="defaults"):
                inside.set()
                leave.wait(SECONDS)

        thread = threading.Thread(target=stay)
        thread.start()
        inside.wait(SECONDS)
        assert process_state() == before
        assert current()["unroll-count"] == 0 and current() == OptionContext(base="defaults")
        context = OptionContext(inline_threshold=3)  # values are judged while others are inside
        assert (context["unroll-count"], context["internalize-public-api-list"]) == (0, [])
        leave.set()
        with context:
            assert unrolled() == 1
        thread.join()
        """)
    )


def test_what_is_set_process_wide_inside_is_undone_with_the_scope() -> None:
    run_python(
        turns("""
        from llvmlite import binding
        context = OptionContext(internalize_public_api_list=["f"], unroll_count=2, base="defaults")
        for round in range(100):
            with context:
                for text in (
                    "-unroll-count=5",
                    "-internalize-public-api-list=g,h,i",
                    "-force-attribute=f:cold",
                    "-asan-memory-access-callback-prefix=" + "x" * 99,
                    "-pass-remarks=x",
                ):
                    binding.set_option("", text)
                assert unrolled() == 5
            assert unrolled() == 1
        assert process_state() == before
        with context:
            assert unrolled() == 2
        assert context["internalize-public-api-list"] == ["f"]
        """)
    )


def test_bad_values_print_nothing_and_what_others_print_is_printed() -> None:
    # `run_python` fails where anything is on standard error, so the second half looks at its own.
    run_python(
        turns("""
        import os, tempfile
        from optctx import OptionValueError
        bad = {"unroll-count": "x", "x86-asm-syntax": "z", "pass-remarks": "[", "x86-align-branch": "jcc+no"}

        def refuse():
            for name, text in bad.items():
                try:
                    OptionContext({name: text})
                except OptionValueError as error:
                    assert "LLVM says" in str(error)
                else:
                    raise AssertionError(name)

        refuse()
        with OptionContext(unroll_count=3):
            refuse()
            assert unrolled() == 3
        with tempfile.TemporaryFile() as file:
            kept = os.dup(2)
            os.dup2(file.fileno(), 2)
            done = threading.Event()

            def talk():
                with OptionContext.from_args("-opt-bisect-limit=5", process_wide="exclusive"):
                    for round in range(50):
                        unrolled()
                done.set()

            def parse():
                while not done.is_set():
                    refuse()

            try:
                in_threads([talk, parse])
            finally:
                os.dup2(kept, 2)
            file.seek(0)
            lines = file.read().decode().splitlines()
        assert len(lines) >= 50 and all(line.startswith("BISECT: ") for line in lines), lines
        """)
    )


def test_options_that_cannot_be_scoped_go_with_the_turn() -> None:
    run_python(
        turns("""
        from optctx import OptionValueError

        def exclusive(**named):
            return OptionContext(process_wide="exclusive", base="defaults", **named)

        def work(number):
            for round in range(20):
                with exclusive(rng_seed=number, unroll_count=number):
                    assert (registry()["rng-seed"].value, unrolled()) == (number, number)
                    with OptionContext(unroll_count=9):
                        assert (registry()["rng-seed"].value, unrolled()) == (number, 9)
                    try:
                        with exclusive(rng_seed=number + 1):
                            raise AssertionError("entered")
                    except ScopeError as error:
                        assert f"-rng-seed={number}" in str(error)
                    assert (registry()["rng-seed"].value, unrolled()) == (number, number)
                try:
                    with exclusive(rng_seed="abc"):
                        raise AssertionError("entered")
                except OptionValueError as error:
                    assert "value invalid" in str(error)

        in_threads([lambda: work(2), lambda: work(3)])
        assert process_state() == before
        """)
    )


def test_a_thread_that_ends_inside_gives_its_turn_back() -> None:
    run_python(
        turns("""
        def forget():
            OptionContext(unroll_count=2).__enter__()
            OptionContext(unroll_count=3).__enter__()
            assert unrolled() == 3

        in_threads([forget])
        assert scopes_become(0)
        with OptionContext(unroll_count=4):
            assert unrolled() == 4
        assert process_state() == before and unrolled() == 1
        """)
    )


FORK = """
    import os, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is what is tested

    def in_child(work):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


def test_a_child_of_fork_is_where_its_parent_was_and_waits_for_nobody() -> None:
    run_python(
        turns(textwrap.dedent(FORK))
        + textwrap.dedent("""
        def child():
            assert (current()["unroll-count"], unrolled()) == (3, 3)
            inner.__exit__()
            assert unrolled() == 2
            outer.__exit__()
            assert unrolled() == 1 and process_state() == before

        unrolled()
        with OptionContext(unroll_count=2) as outer, OptionContext(unroll_count=3) as inner:
            waiting = threading.Thread(target=unrolled)
            waiting.start()
            time.sleep(0.3)
            in_child(child)
            assert unrolled() == 3
        waiting.join()

        inside, leave = threading.Event(), threading.Event()

        def stay():
            with OptionContext(unroll_count=5, rng_seed=3, process_wide="exclusive"):
                inside.set()
                leave.wait(SECONDS)

        def elsewhere():
            assert process_state() == before and unrolled() == 1
            with OptionContext(unroll_count=6):
                assert unrolled() == 6

        thread = threading.Thread(target=stay)
        thread.start()
        inside.wait(SECONDS)
        in_child(elsewhere)
        leave.set()
        thread.join()
        assert process_state() == before
        """)
    )


def test_the_interpreter_ends_with_threads_inside_and_waiting() -> None:
    run_python(
        turns("""
        OptionContext(unroll_count=3, internalize_public_api_list="f").__enter__()
        OptionContext(unroll_count=4, rng_seed=3, process_wide="exclusive").__enter__()

        def wait():
            with OptionContext(unroll_count=5):
                raise AssertionError("it is not its turn")

        threading.Thread(target=wait, daemon=True).start()
        threading.Thread(target=unrolled, daemon=True).start()
        time.sleep(0.3)
        """)
    )


# Falling back

FORBID = """
    import ctypes, sys
    PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1  # linux/prctl.h: no page becomes executable from now on

    def forbid():
        import llvmlite.binding
        if ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
            print("the kernel cannot be asked to forbid it")
            sys.exit()
"""
AUTOMATIC = """
    import warnings
    import optctx
    from support import changed_code, unrolled

    def use_it(because):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with optctx.OptionContext(unroll_count=4):
                assert unrolled() == 4
            with optctx.OptionContext(unroll_count=5):
                assert unrolled() == 5
        [warning] = caught
        assert warning.category is optctx.EngineWarning and because in str(warning.message), warning
        assert warning.filename == "<string>"  # where it was used
        info = optctx.info()
        assert info["engine"] == "exclusive" and because in info["engine_reason"], info
        assert changed_code() == []
"""


def falling_back(text: str) -> str:
    return textwrap.dedent(FORBID) + textwrap.dedent(AUTOMATIC) + textwrap.dedent(text)


@pytest.fixture
def automatic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTCTX_ENGINE", "")


@pytest.mark.usefixtures("automatic")
def test_a_kernel_that_forbids_changing_code_is_a_reason_to_take_turns() -> None:
    said = run_python(
        falling_back("""
        forbid()
        use_it("mprotect")
        """)
    )
    if said:
        pytest.skip(said)


@pytest.mark.usefixtures("automatic")
def test_a_kernel_without_membarrier_is_one_where_other_threads_run() -> None:
    said = run_python(
        falling_back("""
        import struct, threading
        SYS_MEMBARRIER, ENOSYS = 324, 38
        LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
        FAIL, ALLOW = 0x00050000 | ENOSYS, 0x7FFF0000  # linux/seccomp.h
        code = [(LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, SYS_MEMBARRIER)]
        code += [(RETURN, 0, 0, FAIL), (RETURN, 0, 0, ALLOW)]
        filters = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in code))
        program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(filters)))
        PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program):
            print("the kernel has no seccomp filters")
            sys.exit()
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        use_it("membarrier")
        """)
    )
    if said:
        pytest.skip(said)


def test_a_kernel_that_forbids_changing_code_is_an_error_for_who_wants_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPTCTX_ENGINE", "thread")
    said = run_python(
        falling_back("""
        forbid()
        for round in range(2):
            try:
                optctx.registry()
            except optctx.UnsupportedImageError as error:
                assert "mprotect" in str(error) and "OPTCTX_ENGINE=exclusive" in str(error)
            else:
                raise AssertionError("attached")
        info = optctx.info()
        assert info["engine"] is None and "mprotect" in info["error"]
        assert changed_code() == [] and unrolled() == 1
        """)
    )
    if said:
        pytest.skip(said)


@pytest.mark.usefixtures("automatic")
@pytest.mark.parametrize("step", [1, 9000, 18000])
def test_a_change_that_fails_half_way_is_a_reason_to_take_turns(step: int) -> None:
    run_python(
        falling_back(f"""
        from optctx.engine import redirecting

        class Failing:
            def __init__(self, *arguments):
                self.transaction = redirecting_transaction(*arguments)

            def commit(self):
                self.transaction.commit({step})

        redirecting_transaction, redirecting.Transaction = redirecting.Transaction, Failing
        use_it("asked to fail")
        """)
    )


@pytest.mark.usefixtures("automatic")
@pytest.mark.parametrize(
    ("missing", "because"),
    [
        ('sys.modules["iced_x86"] = None', "iced-x86"),
        ('import platform; platform.machine = lambda: "riscv64"', "riscv64"),
    ],
)
def test_a_processor_that_nobody_can_decode_for_is_a_reason_to_take_turns(missing: str, because: str) -> None:
    run_python(falling_back(f"{missing}\nuse_it({because!r})\n"))


@pytest.mark.usefixtures("automatic")
def test_a_thread_that_blocks_the_trap_is_none() -> None:
    # It goes away, or was started too early: turns until the process ends would be a high price.
    script = """
        import os, signal, threading
        import optctx
        from support import unrolled
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTRAP})
        thread = threading.Thread(target=threading.Event().wait, daemon=True)
        thread.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTRAP})
        try:
            optctx.registry()
        except optctx.UnsupportedImageError as error:
            assert "blocks SIGTRAP" in str(error) and "OPTCTX_ENGINE=exclusive" in str(error)
        else:
            raise AssertionError("attached")
        os.environ["OPTCTX_ENGINE"] = "exclusive"
        with optctx.OptionContext(unroll_count=4):
            assert unrolled() == 4
    """
    run_python(script)


@pytest.mark.parametrize("value", ["threads", "Exclusive", " "])
def test_another_value_of_the_variable_is_one_clear_error(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPTCTX_ENGINE", value)
    run_python(f"""
        import os
        import optctx
        for use in (optctx.registry, optctx.OptionContext, optctx.info, optctx.current):
            try:
                use()
            except optctx.OptctxError as error:
                words = str(error)
                assert all(w in words for w in ("OPTCTX_ENGINE", "thread", "exclusive", {value!r})), words
            else:
                raise AssertionError("attached")
        os.environ["OPTCTX_ENGINE"] = "thread"
        assert optctx.info()["engine"] == "thread"
    """)
