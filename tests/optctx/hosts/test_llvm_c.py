"""An LLVM that a program has loaded itself: its objects are addresses, and llvmlite is not asked."""

from __future__ import annotations

import json
import pathlib

from tests.support.processes import python_process


def test_a_program_without_llvmlite_has_options_in_its_own_llvm(
    second_library: pathlib.Path,
    second_digests: dict[str, dict[str, str]],
    tmp_path: pathlib.Path,
) -> None:
    expected = tmp_path / "expected.json"
    expected.write_text(json.dumps(second_digests))
    done = python_process("-m", "tests.optctx.hosts.own_llvm", str(second_library), str(expected))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
