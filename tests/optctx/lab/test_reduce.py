"""The fewest options that still fail: real crashes and hangs of LLVM, and properties that a program tells."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest

from optctx import OptionContext
from optctx.compiling import FreshProcess, Job, Result
from optctx.errors import OptctxError
from optctx.lab.command import reduce_command
from optctx.lab.command.main import main
from optctx.lab.outcome import Limits
from optctx.lab.reduce import reduce_options
from tests.support.endless import LIST, endless
from tests.support.ir_texts import SCALE, X86
from tests.support.tuning_cases import TINY

CRASH = "-force-vector-width=3"  # LLVM asserts that it is a power of two
HARMLESS = [
    "-disable-branch-fold", "-disable-lsr", "-dse-optimize-memoryssa=false", "-enable-gvn-hoist",
    "-inline-threshold=100", "-licm-max-num-uses-traversed=4", "-machine-sink-bfi=false",
    "-max-nested-scalar-reduction-interleave=1", "-memdep-block-scan-limit=50", "-misched-cluster=false",
    "-no-x86-call-frame-opt", "-sink-insts-to-avoid-spills", "-unroll-allow-partial",
    "-unroll-allow-peeling=false", "-unroll-max-iteration-count-to-analyze=20", "-unroll-threshold=100",
    "-vectorize-scev-check-threshold=10", "-vectorizer-maximize-bandwidth", "-x86-and-imm-shrink=false",
]  # fmt: skip
SLEEP = 1000 + os.getpid() / 1e8  # seconds: no other run of these tests has such a process
TWENTY = (*HARMLESS[:9], "-force-vector-width=999999", *HARMLESS[9:])


@pytest.fixture
def kernel(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("scale.ll").write_text(SCALE)
    return "scale.ll"


def test_a_hang_is_reduced(tmp_path: pathlib.Path) -> None:
    hang = f"-{LIST}={endless(tmp_path)}"
    found = reduce_options(Job(TINY, "chr", (hang,)), limits=Limits(timeout=0.2))
    assert (found.job.options, str(found.failure)) == ((hang,), "timed out")


class Pretended(FreshProcess):
    """Says how long a compilation would take, and takes no time: a millisecond for each unrolling."""

    def compile(self, job: Job, *, timeout: float | None = None) -> Result:
        context = OptionContext.from_args(job.options, base="defaults")
        count, lanes = context["unroll-count"], context["force-vector-width"]
        taken = count * max(lanes, 1) / 1000  # type: ignore[operator,type-var]
        late = taken > (self._limits.seconds or 0.0 if timeout is None else timeout)
        return Result(error="late", end="timed out") if late else Result(seconds=taken)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["optctx.lab.reduce"], "FreshProcess", Pretended)


@pytest.mark.parametrize(
    ("given", "seconds", "left"),
    [
        (("-unroll-count=1000000", "-disable-lsr"), 0.01, ("-unroll-count=101",)),
        (("-disable-lsr", "-unroll-count=4000000000"), 1e5, ("-unroll-count=1000000001",)),
        (
            ("-unroll-count=20000", "-force-vector-width=16"),
            3.0,
            ("-unroll-count=1876", "-force-vector-width=16"),
        ),
    ],
)
def test_what_is_left_of_a_hang_runs_for_ten_times_the_limit(
    pretended: None, given: tuple[str, ...], seconds: float, left: tuple[str, ...]
) -> None:
    found = reduce_options(Job(SCALE, options=given), limits=Limits(timeout=seconds))
    assert (str(found.failure), sorted(found.job.options)) == ("timed out", sorted(left))
    assert "ten times" in " ".join(str(reduce_command.__doc__).split())


def test_what_takes_a_little_longer_than_the_limit_is_no_hang(pretended: None) -> None:
    job = Job(SCALE, options=("-unroll-count=5000", "-disable-lsr"))
    with pytest.raises(
        OptctxError, match="does not hang: it takes longer than 3 s, but not 10 times as long"
    ):
        reduce_options(job, limits=Limits(timeout=3.0))


def reduced(job: Job, fails: Callable[[Job], bool]) -> Job:
    return reduce_options(job, fails).job


def test_failures_of_any_kind_are_reduced() -> None:
    def fails(job: Job) -> bool:
        context = OptionContext.from_args(job.options, base="defaults")
        return context["unroll-count"] > 40 and context["inline-threshold"] < 200  # type: ignore[operator]

    found = reduced(Job(SCALE, options=("-unroll-count=1000000", *HARMLESS)), fails)
    assert found.options == ("-unroll-count=41", "-inline-threshold=199")


def test_a_number_is_read_as_llvm_reads_it() -> None:
    def fails(job: Job) -> bool:
        return OptionContext.from_args(job.options)["unroll-count"] == 8

    assert reduced(Job(TINY, options=("-unroll-count=010",)), fails).options == ("-unroll-count=8",)
    # One of the whole process, which no context reads, stays as it is.
    assert reduced(Job(TINY, options=("-rng-seed=9",)), lambda job: bool(job.options)).options == (
        "-rng-seed=9",
    )


def test_another_value_that_makes_an_option_needless_takes_it_out() -> None:
    def fails(job: Job) -> bool:
        context = OptionContext.from_args(job.options, base="defaults")
        count, lsr = context["unroll-count"], context["disable-lsr"]
        return bool(count == 7 or (count and count % 2 and lsr))  # type: ignore[operator]

    job = Job(SCALE, options=("-unroll-count=9", "-disable-lsr"))
    assert reduced(job, fails).options == ("-unroll-count=1", "-disable-lsr")
    job = Job(SCALE, options=("-unroll-count=7", "-disable-lsr"))
    assert reduced(job, fails).options == ("-unroll-count=7",)


def test_twenty_options_are_reduced_to_the_one_that_crashes(
    kernel: str, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["reduce", kernel, f"--llc=-mtriple={X86}"]
    assert main([*command, "--format", "json", *(word for each in TWENTY for word in ("--set", each))]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["options"], found["given"], found["failure"]["state"]) == ([CRASH], 20, "crashed")
    assert main([*command, *(word for each in TWENTY[8:11] for word in ("--set", each))]) == 0
    failure, counts, options, clang, tools = capfd.readouterr().out.splitlines()
    assert failure.startswith("crashed: Assertion `isPowerOf2_32")
    assert counts.startswith("1 of 3 options, after ")
    assert options == CRASH
    assert clang.startswith(f"clang: clang -O3 --target={X86} -fPIC -mllvm {CRASH} -c -o ")
    assert tools == "opt and llc: {opt} && {llc}".format(**found["commands"])
    assert f" -mtriple={X86} -relocation-model=pic {CRASH} -o " in tools


def test_a_program_says_what_is_kept(kernel: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The object is kept larger than without options; the program says so, and starts one that never ends."""
    with FreshProcess() as fresh:

        def size(*options: str) -> int:
            return len(fresh.compile(Job(SCALE, options=options, triple=X86)).code)

        plain = size()
        pathlib.Path("larger.py").write_text(
            "import os, subprocess, sys\n"
            f"subprocess.Popen(['sleep', '{SLEEP}'])\n"
            f"sys.exit(os.path.getsize(sys.argv[1]) <= {plain})\n"
        )
        words = ["reduce", kernel, f"--llc=-mtriple={X86}", "--format", "json"]
        words += ["--command", f"{shlex.quote(sys.executable)} larger.py {{object}}"]
        for each in ("disable-lsr", "unroll-count=7", "inline-threshold=3"):
            words += ["--set", each]
        assert main(words) == 0
        (option,) = json.loads(capfd.readouterr().out)["options"]
        count = int(option.removeprefix("-unroll-count="))
        assert size(option) > plain >= size(f"-unroll-count={count - 1}")
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"sleep {SLEEP}" not in listed
