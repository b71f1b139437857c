"""A sweep of files whose functions passes skip: said once, on standard error."""

from __future__ import annotations

import json
import pathlib

import pytest

from optctx.lab.command.main import main
from tests.support import ir_texts
from tests.support.ir_texts import COUNTED, UNROLL
from tests.support.rows import rows

pytestmark = [pytest.mark.usefixtures("attached")]

OPTNONE = ir_texts.counted("count", "noinline optnone")
OTHER = ir_texts.counted("other", "noinline optnone")
SIMPLE = "define void @f() { ret void }\n"
EVERY = "every function is optnone: passes skip them; compile with clang -O1"
# A file, and what is said of it.
FILES = [
    (OPTNONE, EVERY),
    (OPTNONE + SIMPLE, "1 of 2 functions is optnone: passes skip it"),
    (OPTNONE + OTHER + SIMPLE, "2 of 3 functions are optnone: passes skip them"),
    (OPTNONE + ir_texts.counted("other"), ""),  # the option does something
    (SIMPLE, ""),
]


@rows(("ir", "says"), FILES)
def test_a_sweep_says_it_of_each_file_in_any_form(
    ir: str, says: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, other = str(tmp_path / "skipped.ll"), str(tmp_path / "counted.ll")
    pathlib.Path(file).write_text(ir)
    pathlib.Path(other).write_text(COUNTED)
    command = ["sweep", file, other, "--passes", UNROLL, "--try", "unroll-count=2,4"]
    for form in ("table", "json"):
        assert main([*command, "--format", form]) == 0
        out, err = capfd.readouterr()
        said = [line for line in err.splitlines() if "optnone" in line]
        assert [line.startswith(f"optctx: {file}: {says}") for line in said] == [True] * bool(says)
    objects = {trial["attributes"]["digest"] for trial in json.loads(out) if trial["file"] == file}
    assert (len(objects) == 1) == (bool(says) or ir == SIMPLE)
    assert main([*command, "--quiet"]) == 0
    assert "optnone" not in capfd.readouterr().err
