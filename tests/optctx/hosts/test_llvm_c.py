"""An LLVM that a program has loaded itself: its objects are addresses, and llvmlite is not asked."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest
from llvmlite.binding import ffi

from tests.support.bare_llvm import digests_by_argument
from tests.support.processes import python_process


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("own") / "libown.so"
    shutil.copy(ffi.lib._name, made)
    return made


@pytest.fixture(scope="module")
def expected(library: pathlib.Path) -> pathlib.Path:
    """A file of what processes without optctx give."""
    found = digests_by_argument(library, ["", *(f"-unroll-count={count}" for count in (2, 3, 4))])
    file = library.parent / "expected.json"
    file.write_text(json.dumps(found))
    return file


@pytest.mark.parametrize("engine", ["thread", "exclusive"])
@pytest.mark.redirected
def test_a_program_without_llvmlite_has_options_in_its_own_llvm(
    library: pathlib.Path, expected: pathlib.Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPTCTX_ENGINE", engine)
    done = python_process("-m", "tests.optctx.hosts.own_llvm", str(library), str(expected))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
