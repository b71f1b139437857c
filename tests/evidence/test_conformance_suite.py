"""The conformance suite itself: what it reads, and that it finds every kind of fault that is put into it."""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any

import pytest

from tests.support.own_llvm import PARTS, link, needs_archives
from tests.support.processes import python_process, run_python
from tests.support.rows import rows

pytestmark = pytest.mark.long

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
            ("hangs", "right"),
            {"hangs": ("crashed", "alone: SIGKILL: "), "right": ("agreed", "")},
        ),
    ],
)
def test_every_fault_is_told_from_every_other(
    names: tuple[str, ...], wanted: dict[str, tuple[str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as references:
        script = "import sys, tests.evidence.suite_faults as it; it.judge_jobs(*sys.argv[1:])"
        found = json.loads(run_python(script, references, *names))
    assert found.keys() == wanted.keys()
    for name, (verdict, detail) in wanted.items():
        assert found[name][0] == verdict, name
        assert found[name][1].startswith(detail), name


@needs_archives
def test_options_of_company_are_reset_in_the_library_that_is_judged() -> None:
    script = "import sys, tests.evidence.suite_faults as it; it.compile_after_company(sys.argv[1])"
    assert run_python(script, link("-Wl,--build-id", *PARTS, "x86", "nvptx")) == "output True\n"


def run_command(fault: str, hidden: str, folder: pathlib.Path, *arguments: str) -> tuple[int, Any, str]:
    """(exit status, report, text) of the command, which keeps what it needs in a folder."""
    report = folder / "report.json"
    script = "import sys, tests.evidence.suite_faults as it; sys.exit(it.run_command(*sys.argv[1:]))"
    given = [*arguments, "--cache", str(folder / "cache"), "--json", str(report)]
    done = python_process("-c", script, fault, hidden, *given)
    assert done.stderr == ""
    return done.returncode, json.loads(report.read_text()), done.stdout


@rows(("fault", "status", "verdict"), [("wrong", 1, "differing"), ("", 0, "agreed")])
def test_the_exit_status_says_whether_all_is_well(
    fault: str, status: int, verdict: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "x").mkdir(exist_ok=True)
    (tmp_path / "x" / "a.ll").write_text("; RUN: opt -passes=licm -unroll-count=3 %s\n")
    ended, report, text = run_command(fault, "", tmp_path, "x", "--tests", str(tmp_path))
    assert ended == status
    assert (report["totals"]["commands"], report["totals"][verdict]) == (1, 1)
    assert report["settings"]["seed"] == 1  # with the library, what it takes to do it again
    assert report["settings"]["library"]
    assert f"       1  {verdict}" in text.splitlines()


def test_every_sensitive_option_must_be_recorded(tmp_path: pathlib.Path) -> None:
    options = ("unroll-count", "regalloc", "stats")  # the last one is refused
    words = ["sample", "--tests", "tests/programs", "--record"]
    words += [word for name in options for word in ("--option", name)]
    status, report, text = run_command("", "", tmp_path, *words)
    found = report["record"]
    assert (status, found["missing"], found["process"]) == (0, [], 0)
    assert found["pairs"] >= found["options"] >= len(options) - 1
    assert f"{found['pairs']} recorded as read" in text
    status, report, text = run_command("", "unroll-count", tmp_path, *words)
    assert status == 1
    assert report["record"]["pairs"] == found["pairs"]
    assert {name for name, _ in report["record"]["missing"]} == {"unroll-count"}
    assert "unroll-count (sample/" in text
