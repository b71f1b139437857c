"""The judge of `lower` passes the rows as they are, and finds a row that is wrong."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from tests.support.lowering_modules import BRANCHES, STACK

pytestmark = [pytest.mark.llvm22, pytest.mark.long]

ROOT = pathlib.Path(__file__).parents[2]
JUDGE = """
import sys
from evidence.conformance.lowered import EQUIVALENTS, main
name = sys.argv.pop(1)
if name != "none":
    EQUIVALENTS[name] = EQUIVALENTS[name]._replace(make=lambda value: None)
raise SystemExit(main(sys.argv[1:]))
"""


def judged(folder: pathlib.Path, broken: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, broken, "--tests", folder, "--cache", folder / "cache", "tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_wrong_row_is_found(tmp_path: pathlib.Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    hardened = "llc < %s -mtriple=x86_64-linux-gnu -x86-speculative-load-hardening"
    (tests / "code.ll").write_text(f"; RUN: {hardened}\n{BRANCHES}")
    small = "opt < %s -passes=inline -inline-max-stacksize=100 -inline-threshold=9 -S"
    (tests / "text.ll").write_text(f"; RUN: {small}\n{STACK}")
    status, text = judged(tmp_path, "none")
    assert (status, "2  agrees" in text, "2  agree and are sensitive" in text) == (0, True, True), text
    for name, where in (("x86-speculative-load-hardening", "code.ll"), ("inline-max-stacksize", "text.ll")):
        status, text = judged(tmp_path, name)
        assert (status, "1  agrees" in text, "1  differs" in text) == (1, True, True), text
        assert f"tests/{where}:1" in text.split("1  differs")[1]
