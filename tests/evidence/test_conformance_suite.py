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

from tests.support.processes import run_python
from tests.support.rows import rows

pytestmark = pytest.mark.long

ROOT = pathlib.Path(__file__).parents[2]


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


@pytest.mark.parametrize(("fault", "status", "verdict"), [("wrong", 1, "differing"), ("", 0, "agreed")])
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
