"""A picture that cannot be drawn is refused before anything is compiled."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

from optctx.lab.command.main import main

KERNEL = str(pathlib.Path(__file__).parents[2] / "examples" / "kernel.ll")
COMMANDS = {
    "sweep": ["sweep", KERNEL, "--set", "unroll-count=1,2", "--plot"],
    "sensitivity": ["sensitivity", KERNEL, "--options", "unroll-count", "--plot"],
}


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command, in which compiling would be an error."""

    def compile(*arguments: object, **more: object) -> None:
        raise AssertionError("it compiled")

    monkeypatch.setattr(f"optctx.lab.command.{request.param}_command.{request.param}", compile)
    return COMMANDS[request.param]


def refusal(command: list[str], path: str, capfd: pytest.CaptureFixture[str]) -> str:
    """The one line for a plot."""
    assert main([*command, path]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    [line] = err.splitlines()
    return line


def test_where_no_file_can_be_written(
    command: list[str], tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "file").touch()
    missing, taken = str(tmp_path / "no" / "plot.png"), str(tmp_path / "folder.svg")
    below = str(tmp_path / "file" / "plot.png")
    assert refusal(command, missing, capfd) == (
        f"optctx: cannot plot to {missing!r}: there is no directory {str(tmp_path / 'no')!r}; make it first"
    )
    assert "there is no directory" in refusal(command, below, capfd)
    assert refusal(command, taken, capfd) == (
        f"optctx: cannot plot to {taken!r}: it is a directory; name a file in it"
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder.svg"]


def test_a_file_that_this_user_may_not_write(
    command: list[str],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    path = str(tmp_path / "plot.png")
    assert refusal(command, path, capfd) == f"optctx: cannot plot to {path!r}: permission denied"
    mounted = os.statvfs(tmp_path)
    read_only = os.statvfs_result((*mounted[:8], mounted.f_flag | os.ST_RDONLY, mounted[9]))
    monkeypatch.setattr("os.statvfs", lambda path: read_only)
    assert refusal(command, path, capfd) == f"optctx: cannot plot to {path!r}: read-only file system"


def test_without_matplotlib(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert refusal(command, "plot.png", capfd) == (
        "optctx: cannot plot without matplotlib: pip install 'optctx[plot]'"
    )
