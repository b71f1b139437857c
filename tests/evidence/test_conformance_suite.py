"""The conformance suite itself: what it reads, and that it finds every kind of fault that is put into it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from typing import Any

import pytest

from evidence.conformance import choice
from evidence.conformance import main as conformance
from evidence.conformance.cache import ReferenceCache
from evidence.conformance.job import Job, Outcome
from evidence.conformance.runlines import NotApplicableError, command_job, commands, read_jobs
from evidence.conformance.source import SourceError
from tests.support.processes import run_python
from tests.support.rows import rows

pytestmark = pytest.mark.long

ROOT = pathlib.Path(__file__).parents[2]
NEEDS_VALUE = {"unroll-count": True, "inline-threshold": True, "enable-gvn-hoist": False, "regalloc": True}


# Reading

RUNS = """\
; RUN: opt -S %s | FileCheck %s
; CHECK: RUN
  // RUN: llc -mtriple=x86_64 \\
# RUN:   -regalloc=fast \\
; between
;RUN: < %s
; RUN: last"""


def test_run_lines_are_read_with_their_continuations() -> None:
    assert list(commands(RUNS)) == [
        (1, "opt -S %s | FileCheck %s"),
        (3, "llc -mtriple=x86_64  -regalloc=fast  < %s"),
        (7, "last"),
    ]
    assert list(commands("; RUN: opt %s \\\n; RUN: -S \\")) == [], "a continuation that never ends"


@pytest.fixture
def ir(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "a.ll"
    path.write_text("")
    (tmp_path / "b.ll").write_text("")
    return path


def read(command: str, path: pathlib.Path) -> Job:
    return command_job(command, path, "a.ll:1", NEEDS_VALUE.get)


@rows(
    ("command", "expected"),
    [
        (
            "opt < %s -passes='default<O1>,licm' -S -unroll-count=4 | FileCheck %s",
            {"tool": "opt", "passes": "default<O1>,licm", "options": ("-unroll-count=4",)},
        ),
        (
            "opt -p licm -unroll-count 4 --enable-gvn-hoist %s -o /dev/null",
            {"tool": "opt", "passes": "licm", "options": ("-unroll-count=4", "--enable-gvn-hoist")},
        ),
        (
            "opt -O3 -mtriple aarch64 -mattr=+sve -data-layout=e -inline-threshold=-1 %s 2>&1 >/dev/null",
            {"tool": "opt", "passes": "default<O3>", "triple": "aarch64", "features": "+sve", "layout": "e",
             "options": ("-inline-threshold=-1",)},
        ),
        (
            "llc -march=x86-64 -mcpu=znver3 -O0 -regalloc=fast -filetype=obj -o - %s 2> %t",
            {"tool": "llc", "triple": "x86_64-unknown-linux-gnu", "cpu": "znver3", "opt_level": 0,
             "as_object": True, "options": ("-regalloc=fast",)},
        ),
        (
            "llc -mtriple=riscv64 -O=3 -relocation-model=pic"
            " -code-model=medium -target-abi=lp64 -regalloc=x %s",
            {"tool": "llc", "triple": "riscv64", "opt_level": 3, "reloc": "pic", "code_model": "medium",
             "abi": "lp64", "options": ("-regalloc=x",)},
        ),
        (
            "llc -mattr=+a -mattr=+b -march=ppc32 -mtriple=x-ibm-aix %s -regalloc fast",
            {"tool": "llc", "triple": "powerpc-ibm-aix", "features": "+a,+b", "options": ("-regalloc=fast",)},
        ),
    ],
)  # fmt: skip
def test_a_command_is_read_as_a_job(command: str, expected: dict[str, Any], ir: pathlib.Path) -> None:
    job = read(command, ir)
    assert job == Job(path=str(ir), **expected)
    assert job.where == "a.ll:1"


def test_another_input_is_found_beside_the_test(ir: pathlib.Path) -> None:
    assert read("opt -O1 -unroll-count=2 %S/b.ll", ir).path == str(ir.parent / "b.ll")


@rows(
    ("command", "reason"),
    [
        ("FileCheck %s", "another tool: other"),
        ("not opt -O1 -unroll-count=2 %s", "another tool: not"),
        ("opt -O1 -unroll-count=2 %if x %{ a %} %s", "lit's conditions"),
        ("opt -O1 -unroll-count=2 '%s", "quoting"),
        ("opt -O1 -unroll-count=2", "no input file"),
        ("opt -O1 %s", "no option of LLVM's own"),
        ("opt -unroll-count=2 %s", "opt without -passes"),
        ("opt -O1 -unroll-count=2 %S/c.ll", "another input than the test itself"),
        ("opt -O1 -unroll-count=2 %s %s", "another input than the test itself"),
        ("opt -O1 -unroll-count=2 %t", "lit's substitutions"),
        ("opt -O1 -unroll-count=2 -no-such-option %s", "an option that this library does not have"),
        ("llc -Os -regalloc=fast %s", "optimisation level"),
        ("llc -code-model=huge -regalloc=fast %s", "code model"),
        ("llc -relocation-model=ropi -regalloc=fast %s", "relocation model"),
    ],
)
def test_what_cannot_be_done_here_is_left_out_with_the_reason(
    command: str, reason: str, ir: pathlib.Path
) -> None:
    with pytest.raises(NotApplicableError, match=f"^{reason}$"):
        read(command, ir)


def test_a_folder_gives_every_job_once_and_counts_what_is_left_out(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x" / "deep").mkdir(parents=True)
    run = "; RUN: opt -passes=licm -unroll-count=2 %s && opt -passes=licm -unroll-count=3 %s\n"
    (tmp_path / "x" / "a.ll").write_text(
        f"{run}; RUN: opt -passes=licm -unroll-count=2 < %s\n; RUN: opt -O1 %s"
    )
    (tmp_path / "x" / "deep" / "b.ll").write_text(run)
    (tmp_path / "x" / "c.txt").write_text(run)
    jobs, left_out = read_jobs(tmp_path, ["x"], NEEDS_VALUE.get)
    assert [(job.where, job.options) for job in jobs] == [
        ("x/a.ll:1", ("-unroll-count=2",)),
        ("x/a.ll:1", ("-unroll-count=3",)),
        ("x/deep/b.ll:1", ("-unroll-count=2",)),
        ("x/deep/b.ll:1", ("-unroll-count=3",)),
    ]
    assert +left_out == Counter({"the same compilation again": 1, "no option of LLVM's own": 1})


def test_a_job_is_the_same_wherever_it_stands_and_bare_without_its_options() -> None:
    job = Job("opt", "a.ll", "licm", ("-unroll-count=2",), where="here")
    assert job.key() == Job("opt", "a.ll", "licm", ("-unroll-count=2",), where="there").key()
    assert job.key() != job.bare().key()
    assert job.bare() == Job("opt", "a.ll", "licm")


def test_reference_outcomes_are_kept_for_the_next_run(tmp_path: pathlib.Path) -> None:
    job, outcome = Job("opt", "a.ll"), Outcome("died", "d", text="SIGSEGV: words")
    with ReferenceCache(tmp_path, "library") as cache:
        cache.put(job, outcome)
    with ReferenceCache(tmp_path, "library") as cache:
        kept = cache.get(job)
        assert kept == outcome
        assert kept.text == outcome.text
        assert cache.get(Job("opt", "b.ll")) is None
    with ReferenceCache(tmp_path, "other") as cache:
        assert cache.get(job) is None


# Judging, with faults of every kind


@cache
def judged(*names: str) -> Any:
    """What the suite makes of the jobs in `suite_faults`, each with the fault that it is named after.

    With names, of a run with these jobs only.
    """
    with tempfile.TemporaryDirectory() as references:
        script = "import sys, tests.evidence.suite_faults as it; it.judge_jobs(*sys.argv[1:])"
        return json.loads(run_python(script, references, *names))


ALONE = "differs alone in a process too"
SAME = "; stock LLVM gives this very output as well"


@rows(
    ("names", "wanted"),
    [
        (
            (),
            {
                "right": ("agreed", ""),  # whatever happens to others
                "right with two options": ("agreed", ""),
                "insensitive": ("agreed", ""),
                "rejected": ("agreed", ""),
                "refused": ("refused", "stats: the function that reads it also constructs it"),
                "wrong": ("differing", ALONE),
                "ignored": ("differing", f"as with no option set; {ALONE}"),
                "wrong and remembering": (
                    "differing",
                    f"{ALONE}; stock LLVM, too, keeps state of options set before",
                ),
                "unstable": ("unstable", f"{ALONE}{SAME}"),
                "dies fresh": ("not applicable", "died in a fresh process"),
                "killed": ("crashed", "alone: SIGSEGV: last words"),
                "exits": ("crashed", "alone: status 3: "),
            },
        ),
        (
            ("wrong in company", "right"),
            {"wrong in company": ("differing", "agrees alone in a process"), "right": ("agreed", "")},
        ),
        (
            ("killed together", "killed together, too"),  # a crash that takes two is blamed on both
            dict.fromkeys(("killed together", "killed together, too"), ("crashed", "together: SIGSEGV: ")),
        ),
        (
            ("hangs", "right"),
            {"hangs": ("crashed", "alone: SIGKILL: "), "right": ("agreed", "")},
        ),
    ],
)
def test_every_fault_is_told_from_every_other(
    names: tuple[str, ...], wanted: dict[str, tuple[str, str]]
) -> None:
    verdicts = judged(*names)["verdicts"]
    found = {name: (each["verdict"], each["detail"]) for name, each in verdicts.items()}
    assert found.keys() == wanted.keys()
    assert [
        (name, each)
        for name, each in found.items()
        if each[0] != wanted[name][0] or not each[1].startswith(wanted[name][1])
    ] == []


def test_the_evidence_is_what_was_seen() -> None:
    verdicts = judged()["verdicts"]
    sensitive = {name: found["sensitive"] for name, found in verdicts.items()}
    assert [name for name in sensitive if not sensitive[name]] == ["insensitive", "refused"]
    assert {verdicts["rejected"][of]["kind"] for of in ("reference", "scoped")} == {"rejected"}
    wrong = verdicts["wrong"]
    assert wrong["scoped"]["digest"] == "odd" != wrong["reference"]["digest"]
    assert len(set(wrong["evidence"].values())) == 1  # stock LLVM is of one mind
    assert len(wrong["evidence"]) > 15


def test_the_report_counts_jobs_options_and_refusals() -> None:
    report, lines = judged()["report"], judged()["text"].splitlines()
    assert report["totals"] == {
        "commands": 12, "judged": 11, "agreed": 4, "refused": 1, "differing": 3, "unstable": 1, "crashed": 2,
        "not applicable": 1, "sensitive": 9, "sensitive and agreed": 3, "options used": 3,
    }  # fmt: skip
    assert report["options"] == {
        "inline-threshold": {"agreed": 2, "sensitive": 1},
        "stats": {"refused": 1, "sensitive": 0},
        "unroll-count": {"agreed": 3, "differing": 3, "unstable": 1, "crashed": 2, "sensitive": 9},
    }
    assert report["not_applicable"] == {"died in a fresh process: SIGABRT: ": 1}
    assert list(report["refusals"].values()) == [1]
    assert sorted(job["job"]["where"] for job in report["jobs"]) == [
        "exits", "ignored", "killed", "unstable", "wrong", "wrong and remembering",
    ]  # fmt: skip
    assert "       9  sensitive" in lines
    rows = [line.split() for line in lines if line.startswith(("unroll-count ", "stats "))]
    assert rows == [["unroll-count", "3", "9", "3", "1", "2"], ["stats", "1"]]
    assert "1 other options: every job agrees" in lines
    first = lines[lines.index("Differing: 3") + 1]
    assert first.startswith("  wrong opt -passes='function(loop-unroll)' -unroll-count=4: differs alone")
    assert first.endswith("[1 outputs in stock LLVM]")


# The command


def run_command(fault: str, folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "x").mkdir()
    (folder / "x" / "a.ll").write_text("; RUN: opt -passes=licm -unroll-count=3 %s\n")
    script = "import sys, tests.evidence.suite_faults as it; sys.exit(it.run_command(*sys.argv[1:]))"
    given = ["--tests", str(folder), "--cache", str(folder / "cache"), "x", "--timeout", "60", *arguments]
    return subprocess.run(
        [sys.executable, "-c", script, fault, *given],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("fault", "status", "verdict"), [("wrong", 1, "differing"), ("", 0, "agreed"), ("killed", 1, "crashed")]
)
def test_the_exit_status_says_whether_all_is_well(
    fault: str, status: int, verdict: str, tmp_path: pathlib.Path
) -> None:
    done = run_command(fault, tmp_path, "--json", "report.json")
    assert (done.returncode, done.stderr) == (status, "")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["totals"]["commands"], report["totals"][verdict]) == (1, 1)
    assert report["settings"]["seed"] == 1  # with the library, what it takes to do it again
    assert report["settings"]["library"]
    assert f"       1  {verdict}" in done.stdout.splitlines()


@rows(
    ("arguments", "expected"),
    [
        ([], ["-a=1", "-a=2", "-a=3", "-b=1", "-a=4 -b=2"]),
        (["--option", "b"], ["-b=1", "-a=4 -b=2"]),
        (["--option", "b", "--option", "a", "--limit", "9"], ["-a=1", "-a=2", "-a=3", "-b=1", "-a=4 -b=2"]),
        (["--option", "c"], []),
    ],
)
def test_jobs_are_chosen_by_option(arguments: list[str], expected: list[str]) -> None:
    lines = ["-a=1", "-a=2", "-a=3", "-b=1", "-a=4 -b=2"]
    jobs = [Job("opt", "a.ll", "licm", tuple(line.split())) for line in lines]
    chosen = choice.choose(jobs, conformance.make_parser().parse_args(arguments))
    assert [" ".join(job.options) for job in chosen] == expected


@rows(("given", "least"), [(["--per-option", "2"], 2), (["--limit", "3"], 0)])
def test_a_part_of_the_jobs_is_the_same_every_time(given: list[str], least: int) -> None:
    jobs = [Job("opt", "a.ll", "licm", (f"-{name}={i}",)) for name in "abc" for i in range(9)]
    options = conformance.make_parser().parse_args(given)
    chosen = choice.choose(jobs, options)
    assert chosen == choice.choose(jobs, options)
    assert len(chosen) == (3 * least or 3)
    assert min(sum(job.options[0].startswith(f"-{name}") for job in chosen) for name in "abc") >= least


def test_without_the_tests_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    def missing(_: pathlib.Path) -> pathlib.Path:
        raise SourceError("no source here")

    monkeypatch.setattr(choice, "llvm_tests", missing)
    with pytest.raises(SystemExit) as ended:
        conformance.main(["--cache", str(tmp_path)])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "conformance: no source here\n"
