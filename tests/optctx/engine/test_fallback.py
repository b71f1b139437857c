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
def test_a_kernel_that_does_not_move_pages_is_a_reason_to_take_turns() -> None:
    run_python(
        falling_back("""
        import errno
        from kernel_refusals import refuse
        refuse("mremap", errno.EPERM)
        use_it("mremap")
        """)
    )


@pytest.mark.usefixtures("automatic")
def test_a_kernel_without_membarrier_is_none() -> None:
    run_python("""
        import errno, threading
        import optctx
        from kernel_refusals import refuse
        from support import unrolled
        refuse("membarrier", errno.ENOSYS)
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        with optctx.OptionContext(unroll_count=4):
            assert unrolled() == 4
        assert optctx.info()["engine"] == "thread"
    """)


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
@pytest.mark.parametrize("step", [1, 2])
def test_a_change_that_fails_half_way_is_a_reason_to_take_turns(step: int) -> None:
    run_python(
        falling_back(f"""
        from optctx.engine import redirecting

        redirect = redirecting.redirect
        redirecting.redirect = lambda *given: redirect(*given, {step})
        use_it("asked to fail")
        """)
    )


NOT_KNOWN = """
    sys.modules["iced_x86"] = None
    from optctx.arch import CannotDecodeError
    from optctx.arch.x86_64.decoding_capstone import CapstoneDecoder

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
def test_a_processor_that_nobody_can_decode_for_is_a_reason_to_take_turns(
    missing: str, because: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPTCTX_ATTACH_CACHE", "off")  # what was kept has been decoded
    run_python(falling_back(f"{missing}\nuse_it({because!r})\n"))


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
