"""The pytest plugin: options for tests and runs, and what nothing read."""

from __future__ import annotations

import pytest

# Runs inside this process forget the modules that they import first.
import optctx.testing.compiler  # noqa: F401
from optctx import current
from tests.support.ir_texts import COUNTED, SCALE, UNROLL

pytest_plugins = ["pytester"]

HEAD = f"""
import pytest
from optctx import current
from optctx.compiling import Job, compile_job

SCALE = {SCALE!r}

def stores():
    return compile_job(Job({COUNTED!r}, {UNROLL!r}, emit="ir")).ir.count("store volatile")
"""
pytestmark = pytest.mark.usefixtures("attached")


def run(pytester: pytest.Pytester, tests: str, *arguments: str) -> pytest.RunResult:
    """Tests in a file of their own, run inside this process."""
    pytester.makepyfile(HEAD + tests)
    return pytester.runpytest_inprocess("-p", "no:randomly", "-Wignore", *arguments)


def test_options_for_every_test_come_from_the_configuration_and_the_command_line(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nllvm_options = -unroll-count=8\n")
    run(pytester, "def test_it(): assert stores() == 8").assert_outcomes(passed=1)
    result = run(
        pytester,
        """
@pytest.fixture(scope="session")
def unrolled():
    return stores()

def test_every(unrolled):
    assert unrolled == stores() == 4
    assert current()["inline-threshold"] == 7

@pytest.mark.llvm_options("-unroll-count=2")
def test_marked():
    assert stores() == 2
    assert current()["inline-threshold"] == 7
""",
        "-ollvm_options=-unroll-count=4 -inline-threshold=7",
    )
    result.assert_outcomes(passed=2)


UNREAD = """
@pytest.mark.llvm_options("-unroll-count=4", "-vectorize-scev-check-threshold=7")
def test_half():
    stores()

@pytest.mark.llvm_options("-vectorize-scev-check-threshold=7")
def test_fails():
    assert not stores()

@pytest.mark.llvm_options("-unroll-count=4")
def test_all():
    stores()
"""


def test_what_nothing_read_is_a_warning_of_the_test(pytester: pytest.Pytester) -> None:
    more = "-ollvm_options=-dse-memoryssa-scanlimit=9 -unroll-threshold=9"
    result = run(pytester, UNREAD, more, "-Wdefault::optctx.UnreadOptionWarning")
    result.assert_outcomes(passed=2, failed=1, warnings=2)
    result.stdout.fnmatch_lines(["*::test_half", "*did not read 1 of * -vectorize-scev-check-threshold=7: *"])
    result = run(pytester, UNREAD, "-Werror::optctx.UnreadOptionWarning", "-k", "half or all")
    result.assert_outcomes(passed=1, failed=1)


def test_markers_take_what_a_context_takes_and_the_innermost_counts(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.llvm_options("-inline-threshold=7 -unroll-count=3")
class TestMarked:
    @pytest.mark.llvm_options("-unroll-count=8", inline_threshold=9)
    def test_inner(self, llvm_options):
        assert stores() == 8
        assert llvm_options == current()
        assert (current()["inline-threshold"], current()["inlinehint-threshold"]) == (9, 5)

@pytest.mark.llvm_options("-inline-threshold=7", "-unroll-count=3")
@pytest.mark.parametrize("llvm_options", ["-unroll-count=2"], indirect=True)
def test_parameter(llvm_options):
    assert stores() == 2
    assert current()["inline-threshold"] == 7

def test_unmarked():
    assert stores() == 1
""",
        "-ollvm_options=-inlinehint-threshold=5",
    )
    result.assert_outcomes(passed=3)
    assert current()["unroll-count"] == 0


def test_a_wrong_marker_fails_its_own_test_with_one_line(pytester: pytest.Pytester) -> None:
    tests = """
import unittest

@pytest.mark.llvm_options("-unroll-cuont=4")
def test_marked(): pass

@pytest.mark.llvm_options({"unroll-count": 4})
def test_two(): pass

class TestCase(unittest.TestCase):
    @pytest.mark.llvm_options(unread="error")
    def test_base(self): pass

@pytest.mark.parametrize("llvm_options", ["-unroll-cuont=4"], indirect=True)
def test_parameter(llvm_options): pass

def test_sound(): pass
"""
    result = run(pytester, tests)
    result.assert_outcomes(passed=1, failed=3, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "@pytest.mark.llvm_options: no LLVM option is called 'unroll-cuont' *",
            "@pytest.mark.llvm_options: *'unroll-count'*",
            "@pytest.mark.llvm_options: *'unread'*",
            "the parameter of llvm_options: no LLVM option is called *",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "During handling" not in result.stdout.str()


def test_a_bad_option_of_the_run_is_one_error_before_any_test(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_one(): pass", "-ollvm_options=-unroll-count=x")
    result.stderr.fnmatch_lines("ERROR: llvm_options: cannot set 'unroll-count' to 'x': *")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_run_that_asks_for_no_options_loads_nothing_of_optctx(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import sys; sys.modules['optctx._native'] = None")  # importing it is an error
    pytester.makepyfile(
        """
def test_nothing(pytestconfig):
    import sys
    assert pytestconfig.pluginmanager.hasplugin("optctx")
    assert not {"llvmlite", "hypothesis", "capstone"} & set(sys.modules)
    loaded = sorted(name.removeprefix("optctx.") for name in sys.modules if name.startswith("optctx."))
    assert loaded == ["_native", "importing", "testing", "testing.plugin_entry"]
"""
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-ollvm_options=-unroll-count=4")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("ERROR: cannot run tests inside LLVM options: *")
