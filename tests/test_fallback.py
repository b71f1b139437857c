"""Which way a process runs: by hand with OPTCTX_ENGINE, and by itself where code cannot be changed."""

from __future__ import annotations

import textwrap

import pytest
from support import run_python

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

        redirect = redirecting.redirect
        redirecting.redirect = lambda code, tables: redirect(code, tables, {step})
        use_it("asked to fail")
        """)
    )


NOT_KNOWN = """
    sys.modules["iced_x86"] = None
    from optctx.image.decoding import CannotDecodeError
    from optctx.image.decoding_capstone import CapstoneDecoder

    def not_known(*arguments):
        raise CannotDecodeError("not known: 90")

    CapstoneDecoder.decode = not_known
"""


@pytest.mark.usefixtures("automatic")
@pytest.mark.parametrize(
    ("missing", "because"),
    [
        ('sys.modules["iced_x86"] = sys.modules["capstone"] = None', "neither iced-x86 nor capstone"),
        (textwrap.dedent(NOT_KNOWN), "not known: 90"),
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
