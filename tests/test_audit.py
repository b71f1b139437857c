"""The audit sees every access to LLVM's own option storage that should have gone elsewhere, and nothing else.

Everything runs in processes of its own: pages are protected and signals handled meanwhile.
"""

from __future__ import annotations

import signal
import textwrap

import pytest
from support import python_process, run_python

START = """
import ctypes, pathlib
from optctx import OptionContext, registry
from optctx.engine.attach import attach
from optctx.engine.audit import audit
from optctx.fresh import Job, compile_job
from support import CALLS, SCALE, X86, in_threads, unrolled

def page_table():
    "(begin, end, protection) of the library's pages and of what follows them."
    from optctx.engine.attach import attach
    regions = [region.live for region in attach().plan.regions if region.scoped]
    found = []
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(word, 16) for word in line.split()[0].split("-"))
        if begin <= max(regions) and end > min(regions):
            found.append((begin, end, line.split()[1]))
    return found

def attach_without(choose):
    "Attaches, but leaves the instructions alone that `choose` takes from the plan: (engine, those)."
    import optctx.engine.attach as attaching
    from optctx._native import Transaction, thread_offset
    from optctx.image.trampolines import trampoline
    engine = attaching._engine = attaching._prepare()
    missed, offset = choose(engine), thread_offset(engine.index)
    code = [
        (site.address, site.code, trampoline(site, engine.plan.slots[site.region], offset))
        for site in engine.plan.sites if site not in missed
    ]
    engine.transaction = Transaction(code, engine.image.text_begin, engine.image.text_end)
    engine.transaction.commit()
    return engine, missed

def caught():
    "What /proc says of the signals that this process handles."
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return [line for line in lines if line.startswith("SigCgt")]

"""


def script(text: str) -> str:
    return START + textwrap.dedent(text)


def test_a_compilation_in_a_context_touches_nothing_and_gives_the_same() -> None:
    run_python(
        script("""
        jobs = [Job(SCALE, triple=X86), Job(CALLS, triple=X86), Job(SCALE, "default<O1>", emit="ir")]
        context = OptionContext({"unroll-count": 4, "inline-threshold": 0, "regalloc": "greedy"})
        with context:
            expected = [compile_job(job) for job in jobs]
        assert all(result.error is None for result in expected)
        engine = attach()
        for slot, region in enumerate(engine.plan.regions):  # whose own storage is elsewhere: all of them
            assert region.scoped == (engine.space.default_address(slot) != region.live)
        with audit() as seen, context:
            assert [compile_job(job) for job in jobs] == expected
        assert seen.accesses == []
        assert seen.regions > 2500 and seen.pages > 100 and seen.neighbours > 1000
        """)
    )


# The site of an option that is left as it is, and a compilation that comes past it.
MISSED = {
    "read": ("unroll-count", "llvm::computeUnrollCount(", "assert unrolled() == 1"),
    "write": (
        "min-jump-table-entries",
        "llvm::TargetLoweringBase::setMinimumJumpTableEntries(",
        'compile_job(Job(CALLS, "default<O0>", triple="avr"))',
    ),
}


@pytest.mark.parametrize("kind", MISSED)
def test_one_site_that_was_missed_is_reported_with_function_option_and_address(kind: str) -> None:
    option, function, compilation = MISSED[kind]
    run_python(
        script(f"""
        from optctx._native import demangle
        def choose(engine):
            address = engine.options["{option}"].record.address
            return [next(
                site for site in engine.plan.sites
                if site.region == address and site.offset == engine.survey.value_offset
                and site.writes == {kind == "write"} and demangle(site.function).startswith("{function}")
            )]

        engine, [missed] = attach_without(choose)
        with OptionContext({{"unroll-count": 4}}), audit() as seen:
            {compilation}
        [access] = seen.accesses
        assert access.function == demangle(missed.function) and access.option == "{option}"
        assert (access.instruction, access.address) == (missed.address, missed.region + missed.offset)
        assert access.write == missed.writes and access.count > 0
        assert str(access).startswith(access.function) and "{kind}s {option}" in str(access)
        """)
    )


def test_with_nothing_redirected_every_read_is_reported() -> None:
    run_python(
        script("""
        engine, missed = attach_without(lambda engine: engine.plan.sites[1:])
        sites = {site.address: site for site in missed}
        owners = {}
        for option in engine.options.values():
            owners[option.record.address] = owners[option.record.variable] = option.record.name
        job = Job(CALLS, triple=X86, emit="ir")
        with OptionContext(base="defaults"):
            expected = compile_job(job)
            with audit() as seen:
                assert compile_job(job) == expected
        known = [access for access in seen.accesses if access.instruction in sites]
        assert len(known) > 100 and len({access.option for access in known}) > 100
        for access in known:
            assert access.option == owners[sites[access.instruction].region]
        """)
    )


def test_neighbours_do_not_show_and_accesses_from_elsewhere_do() -> None:
    run_python(
        script("""
        engine = attach()
        record = engine.options["unroll-count"].record
        number = ctypes.c_uint32.from_address(record.address + engine.survey.value_offset)
        page = record.address & -4096
        spans = [(region.live, region.live + region.size) for region in engine.plan.regions]
        beside = next(
            at for at in range(page, page + 4096, 8) if not any(begin - 8 < at < end for begin, end in spans)
        )
        neighbour = ctypes.c_uint32.from_address(beside)
        with OptionContext({"unroll-count": 4}):
            with audit() as seen:
                assert neighbour.value is not None
            assert seen.accesses == [] and seen.neighbours == 1
            for write in (False, True):
                with audit() as seen:
                    if write:
                        ctypes.memset(ctypes.addressof(number), 0, 1)
                    else:
                        assert number.value == 0
                [access] = seen.accesses
                assert (access.option, access.write, access.count) == ("unroll-count", write, 1)
                assert access.address == ctypes.addressof(number) and access.function == ""
                assert seen.neighbours == 0
        with audit() as seen:
            assert number.value == 0  # no context: LLVM's own is what this thread is to see
        assert seen.accesses == [] and seen.entitled == 1
        """)
    )


def test_what_optctx_itself_reads_is_not_reported() -> None:
    run_python(
        script("""
        with OptionContext({"unroll-count": 4}) as context, audit() as seen:
            for option in registry().values():
                option.value, option.default, option.choices, option.occurrences
            OptionContext({"unroll-count": 2, "regalloc": "fast", "x86-align-branch": "jcc"})
            OptionContext(base="defaults").derive({"inline-threshold": 7}).diff(context)
            dict(context)
        assert seen.accesses == []
        assert seen.entitled > 5000
        """)
    )


def test_accesses_across_pages_and_repeated_ones_go_through_unharmed() -> None:
    run_python(
        script("""
        engine = attach()
        pages = sorted({region.live & -4096 for region in engine.plan.regions if region.scoped})
        ends = [page + 4096 for page in pages if page + 4096 in pages]
        assert len(ends) > 50
        ends = ends[::10]
        expected = [ctypes.string_at(end - 4096, 8192) for end in ends]
        with audit() as seen:
            for end, data in zip(ends, expected):
                for size in (2, 16, 32, 64):
                    middle = ctypes.string_at(end - size // 2, size)
                    assert middle == data[4096 - size // 2 : 4096 + size // 2]
                assert ctypes.string_at(end - 4096, 8192) == data
        assert seen.neighbours + seen.entitled > 8 * len(ends) and seen.accesses == []
        """)
    )


# Reads at rdi or r12 that the audit does by hand, and some of their relatives that it does not.
BY_HAND = """
8b07 488b4708 4c8b8f00010000 458b0c24 498b442408 4a8b440708 0fb607 4c0fb64f08
483b07 3b4708 4c390f 4139442408 803f00 807f08ff 833f05 4883bf0001000080
"""
BY_STEP = "480307 488507 668b07 663b07 3a07 0fb707 480fbe07 8a4708 48ff37415b 0f1007"


@pytest.mark.parametrize("codes", [BY_HAND, BY_STEP], ids=["by hand", "by a step"])
def test_every_kind_of_read_gives_registers_and_flags_as_ever(codes: str) -> None:
    run_python(
        script(f"""
        import mmap
        by_hand = {codes == BY_HAND}
        engine = attach()
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        out = (ctypes.c_uint64 * 4)()
        begin = ctypes.addressof(ctypes.c_char.from_buffer(code))
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 3)(begin)

        def load(instruction):
            code.seek(0)
            # push r12; mov r12, rdi; mov rax, rsi; mov r9, rsi; xor r11d, r11d; xor r8d, r8d; ...
            # mov [rdx], rax; mov [rdx+8], r9; mov [rdx+16], r11; pushf; pop [rdx+24]; pop r12; ret
            code.write(bytes.fromhex("41544989fc4889f04989f14531db4531c0" + instruction))
            code.write(bytes.fromhex("4889024c894a084c895a109c8f4218415cc3"))

        def results(address, values):
            found = []
            for value in values:
                run(address, value, ctypes.addressof(out))
                found.append((*out[:3], out[3] & 0x8D5))
            return found

        regions = [region for region in engine.plan.regions if region.scoped and region.size > 128][::200]
        pages = {{region.live & -4096 for region in engine.plan.regions if region.scoped}}
        end = next(page + 4096 for page in sorted(pages) if page + 4096 in pages)
        places = [region.live + at for region in regions for at in (0, 8, 13, 32, 128)]
        places = [at for at in places if 0 < at % 4096 < 3500 and at & -4096 in pages]
        assert len(places) > 30
        for instruction in {codes.split()!r}:
            load(instruction)
            for place in places + [end - 3, end - 11, end - 0x103]:
                here = ctypes.c_uint64.from_address(place).value
                values = [0, 1, 5, 0x7F, 0x80, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, here, here + 1]
                expected = results(place, values)
                with audit() as seen:
                    assert results(place, values) == expected, (instruction, hex(place))
                assert seen.neighbours + seen.entitled >= len(values)
                if place in places:
                    assert seen.steps == (0 if by_hand else len(values)), (instruction, hex(place), seen)
        """)
    )


def test_protections_and_handlers_are_put_back_whatever_happens_in_the_block() -> None:
    run_python(
        script("""
        from optctx.errors import AuditError
        attach()
        before, handlers = page_table(), caught()
        assert any("rw" in protection for *_, protection in before)
        for round in range(3):
            try:
                with audit() as seen:
                    assert [p for *_, p in page_table() if p == "---p"] and caught() != handlers
                    during = page_table()
                    try:
                        with audit():
                            raise SystemError("two audits at once")
                    except AuditError as error:
                        assert "another audit is on" in str(error) and "nothing was changed" in str(error)
                    assert page_table() == during
                    raise KeyError(round)
            except KeyError as error:
                assert error.args == (round,) and seen.pages > 100
            assert page_table() == before and caught() == handlers
        """)
    )


def test_a_thread_that_blocks_faults_is_a_reason_not_to_start() -> None:
    run_python(
        script("""
        import signal, threading
        from optctx.errors import AuditError
        attach()
        before = page_table()
        ready, stop = threading.Event(), threading.Event()

        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})
            ready.set()
            stop.wait()

        thread = threading.Thread(target=block)
        thread.start()
        ready.wait()
        try:
            with audit():
                raise SystemError("started")
        except AuditError as error:
            assert "blocks SIGSEGV" in str(error)
        assert page_table() == before
        stop.set()
        thread.join()
        with audit():
            pass
        assert page_table() == before
        """)
    )


def test_threads_in_no_context_compile_unharmed_and_unreported_even_if_they_block_the_trap() -> None:
    run_python(
        script("""
        import signal
        job = Job(CALLS, "default<O1>", triple=X86, emit="ir")
        expected = compile_job(job)
        attach()
        before = page_table()
        with audit() as seen:
            def outside():
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTRAP})
                for _ in range(3):
                    assert compile_job(job) == expected
                assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) >= {signal.SIGTRAP}
            in_threads([outside])
        assert seen.accesses == [] and seen.entitled > 100
        assert page_table() == before
        """)
    )


# Faults and traps that are not the audit's, and how a process dies of them.
DEATHS = {
    "ctypes.string_at(16)": signal.SIGSEGV,
    "ctypes.memset(readonly, 1, 1)": signal.SIGSEGV,
    "ctypes.CFUNCTYPE(None)(writable)()": signal.SIGSEGV,
    "os.kill(os.getpid(), signal.SIGSEGV)": signal.SIGSEGV,
    "os.kill(os.getpid(), signal.SIGTRAP)": signal.SIGTRAP,
}


@pytest.mark.parametrize("traced", [False, True], ids=["default action", "faulthandler"])
@pytest.mark.parametrize("during", [False, True], ids=["after", "during"])
@pytest.mark.parametrize("fault", DEATHS)
def test_any_other_fault_ends_the_process_as_ever(fault: str, during: bool, traced: bool) -> None:
    text = script(f"""
        import faulthandler, os, resource, signal
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if {traced}:
            faulthandler.enable()
        regions = [region for region in attach().plan.regions if region.scoped]
        table = page_table()
        readonly = next(r.live for r in regions if any(b <= r.live < e and p == "r--p" for b, e, p in table))
        writable = next(r.live for r in regions if any(b <= r.live < e and p == "rw-p" for b, e, p in table))
        with audit():
            if {during}:
                {fault}
        {fault}
        print("still alive")
        """)
    done = python_process("-c", text)
    assert (done.returncode, done.stdout) == (-DEATHS[fault], "")
    assert ("Fatal Python error: Segmentation fault" in done.stderr) == (
        traced and DEATHS[fault] == signal.SIGSEGV
    )


def test_signals_that_are_ignored_or_handled_stay_so() -> None:
    run_python(
        script("""
        import os, signal
        seen = []
        signal.signal(signal.SIGSEGV, signal.SIG_IGN)
        signal.signal(signal.SIGTRAP, lambda *arguments: seen.append(arguments[0]))
        attach()
        with audit():
            os.kill(os.getpid(), signal.SIGSEGV)
            os.kill(os.getpid(), signal.SIGTRAP)
        os.kill(os.getpid(), signal.SIGSEGV)
        assert seen == [signal.SIGTRAP]
        assert signal.getsignal(signal.SIGSEGV) == signal.SIG_IGN
        """)
    )
