"""`optctx check-link`: what it prints, its exit status, and one line for everything that is wrong."""

from __future__ import annotations

import importlib
import json
import pathlib
import sys

import pytest
from llvmlite import binding

from optctx.lab.command import check_link_command
from optctx.lab.command.main import main
from tests.support.links_modules import module_of, stamped
from tests.support.processes import SECONDS


def written(module: binding.ModuleRef, path: pathlib.Path) -> str:
    """Its path, as bitcode or text as the name says."""
    path.write_bytes(module.as_bitcode() if path.suffix == ".bc" else str(module).encode())
    return str(path)


@pytest.fixture
def four(tmp_path: pathlib.Path) -> str:
    return written(stamped("four.c", unroll_count=4), tmp_path / "four.bc")


@pytest.fixture
def eight(tmp_path: pathlib.Path) -> str:
    return written(stamped("eight.c", unroll_count=8), tmp_path / "eight.ll")


@pytest.fixture
def plain(tmp_path: pathlib.Path) -> str:
    return written(module_of("plain.c"), tmp_path / "plain.ll")


def test_the_link_steps_options_take_part(four: str, plain: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check-link", four, four, plain, "--link-options=-unroll-count 4"]) == 0
    assert capfd.readouterr() == (f"{plain}: no stamp\nno option differs among 2 stamped\n", "")
    assert main(["check-link", plain, "--require-stamps"]) == 1
    assert capfd.readouterr() == (f"{plain}: no stamp\nno option differs among 0 stamped\n", "")
    assert main(["check-link", four, "--link-options=-enable-gvn-hoist"]) == 1
    assert [" ".join(line.split()) for line in capfd.readouterr().out.splitlines()] == [
        "option value in",
        *(f"enable-gvn-hoist not given (False) {four} (four.c)", "True the link step"),
        *(f"unroll-count 4 {four} (four.c)", "not given (0) the link step"),
        "2 options differ among 1 stamped",
    ]


def test_json_says_the_same(four: str, eight: str, plain: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check-link", four, eight, plain, "--format", "json"]) == 1
    data = json.loads(capfd.readouterr().out)
    assert data["consistent"] is False
    assert data["unstamped"] == [plain]
    [mismatch] = data["mismatches"]
    assert (mismatch["option"], mismatch["known"]) == ("unroll-count", True)
    assert [(said["value"], said["given"]) for said in mismatch["said"]] == [(4, True), (8, True)]
    assert [said["modules"] for said in mismatch["said"]] == [[f"{four} (four.c)"], [f"{eight} (eight.c)"]]


@pytest.fixture
def deadly(
    four: str, request: pytest.FixtureRequest, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A file over which the process that reads does what the parameter says: a stand-in for LLVM."""
    (tmp_path / "reader.py").write_text(
        "import os, sys, time\nfrom optctx.lab.command import check_link_command\n\n"
        "check = check_link_command.check_link\n\n"
        "def read(modules, *more, **others):\n"
        f"    if modules[0].name.endswith('deadly.ll'):\n        {request.param}\n"
        "    return check(modules, *more, **others)\n\n"
        "def prepare():\n    check_link_command.check_link = read\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("reader", None)
    monkeypatch.setattr(check_link_command, "prepare", importlib.import_module("reader").prepare)
    return written(module_of("plain.c"), tmp_path / "deadly.ll")


@pytest.mark.parametrize(
    ("deadly", "said", "seconds"),
    [
        (
            "print('LLVM ERROR: odd', file=sys.stderr, flush=True); os._exit(1)",
            "LLVM crashed: LLVM ERROR: odd",
            SECONDS,
        ),
        ("os.abort()", "LLVM crashed: killed by SIGABRT", SECONDS),
        ("time.sleep(3600)", "LLVM took longer than 1 s and was stopped; --timeout allows more", 1),
    ],
    indirect=["deadly"],
)
def test_a_process_that_llvm_ends_over_a_file_is_one_line(
    deadly: str, said: str, seconds: float, four: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = [four] if seconds == SECONDS else []  # which may take longer than a second
    assert main(["check-link", *before, deadly, four, "--timeout", f"{seconds:g}"]) == 2
    assert capfd.readouterr() == ("", f"optctx: cannot read {deadly}: {said}\n")
