"""An LLVM that a program has loaded itself: its objects are addresses, and llvmlite is not asked."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.support.processes import python_process


@pytest.mark.parametrize("engine", ["thread", "exclusive"])
@pytest.mark.redirected
def test_a_program_without_llvmlite_has_options_in_its_own_llvm(
    second_library: pathlib.Path,
    second_digests: dict[str, dict[str, str]],
    engine: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPTCTX_ENGINE", engine)
    expected = tmp_path / "expected.json"
    expected.write_text(json.dumps(second_digests))
    done = python_process("-m", "tests.optctx.hosts.own_llvm", str(second_library), str(expected))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
