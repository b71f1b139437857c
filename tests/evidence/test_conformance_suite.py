"""The conformance suite itself: what it reads, and that it finds every kind of fault that is put into it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from functools import cache
from typing import Any

import pytest

from evidence.conformance.job import Job
from evidence.conformance.runlines import command_job, commands
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
