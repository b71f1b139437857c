"""The source-level prototype, as far as it goes without LLVM's sources: its patches and its driver."""

from __future__ import annotations

import pathlib
import shutil

import pytest

from evidence.upstream import patches
from evidence.upstream.__main__ import main
from evidence.upstream.objects import (
    Member,
    Symbols,
    definers,
    lost_symbols,
    missing_symbols,
    option_members,
    reachable,
    untagged,
    users,
)
from evidence.upstream.shell import UpstreamError, run
from evidence.upstream.stamps import digest, step
from evidence.upstream.unit import passed_tests

pytestmark = pytest.mark.long


def write_series(folder: pathlib.Path, *hunks: tuple[str, str]) -> list[patches.Patch]:
    """A series of one patch that changes these files."""
    folder.mkdir(exist_ok=True)
    text = "Subject: x\n\nwhy\n---\n"
    for file, hunk in hunks:
        old = "/dev/null" if "-0,0" in hunk else f"a/{file}"
        text += f"--- {old}\n+++ b/{file}\n{hunk}"
    (folder / "0001-x.patch").write_text(text)
    return patches.series(folder)


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    if not shutil.which("patch"):
        pytest.fail("these tests need the program `patch` (apt-get install patch)")
    folder = tmp_path / "source"
    (folder / "llvm").mkdir(parents=True)
    (folder / "llvm" / "f").write_text("one\ntwo\n")
    return folder


CHANGE = ("llvm/f", "@@ -1,2 +1,2 @@\n-one\n+1\n two\n")
NEW = ("llvm/new", "@@ -0,0 +1,1 @@\n+new\n")


def test_another_series_replaces_an_earlier_one(tmp_path: pathlib.Path, source: pathlib.Path) -> None:
    series = write_series(tmp_path / "a", CHANGE, NEW)
    patches.apply(series, source)
    assert (source / "llvm" / "f").read_text() == "1\ntwo\n"
    assert (source / "llvm" / "new").read_text() == "new\n"
    time = (source / "llvm" / "f").stat().st_mtime_ns
    patches.apply(series, source)
    assert (source / "llvm" / "f").stat().st_mtime_ns == time
    other = ("llvm/f", "@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    patches.apply(write_series(tmp_path / "b", other), source)
    assert (source / "llvm" / "f").read_text() == "one\n2\n"
    assert not (source / "llvm" / "new").exists()


def test_a_patch_that_does_not_apply_changes_nothing(tmp_path: pathlib.Path, source: pathlib.Path) -> None:
    wrong = ("llvm/f", "@@ -1,2 +1,2 @@\n-uno\n+1\n two\n")
    cut = ("llvm/f", "@@ -1,3 +1,4 @@\n one\n+1\n two\n")  # the hunk has fewer lines than it says
    for number, hunk in enumerate((wrong, cut)):
        with pytest.raises(UpstreamError, match=r"0001-x\.patch"):
            patches.apply(write_series(tmp_path / str(number), NEW, hunk), source)
    with pytest.raises(UpstreamError, match="no patches"):
        patches.series(source)
    assert (source / "llvm" / "f").read_text() == "one\ntwo\n"
    assert not (source / "llvm" / "new").exists()


def test_what_is_not_installed_is_one_error(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--llvm", str(tmp_path), "--build", str(tmp_path / "build")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    for package in ("llvm-19-dev", "cmake", "ninja-build", "clang-19"):
        assert package in said.err
    assert "apt-get install" in said.err
    assert not (tmp_path / "build").exists()


def symbols(defined: str, needed: str) -> Symbols:
    return Symbols(set(defined.split()), set(defined.split()), set(needed.split()))


STOCK: dict[Member, Symbols] = {
    ("A", "main.o"): symbols("main", "f"),
    ("A", "f.o"): symbols("f Flag", "_ZN4llvm2cl6Option11addArgumentEv"),
    ("B", "reader.o"): symbols("g", "Flag"),
    ("B", "other.o"): symbols("h", "g"),
}


def test_a_linker_takes_what_is_needed() -> None:
    assert reachable(STOCK, ["main"]) == {("A", "main.o"), ("A", "f.o")}
    assert reachable(STOCK, ["h"]) == {("B", "other.o"), ("B", "reader.o"), ("A", "f.o")}
    assert option_members(STOCK) == {("A", "f.o")}


def test_readers_follow_a_rebuilt_option_and_options_a_rebuilt_reader() -> None:
    assert untagged("_ZN4llvm6PassesB6optctxE") == "_ZN4llvm6PassesE"  # in a namespace
    option = {("A", "f.o"): symbols("f _Z4FlagB6optctx", "")}
    assert lost_symbols(STOCK, option) == {"Flag"}
    assert users(STOCK, {"Flag"}, set(STOCK)) == {("B", "reader.o")}
    assert missing_symbols(STOCK, option) == set()
    reader = {("B", "reader.o"): symbols("g", "_Z4FlagB6optctx")}
    assert lost_symbols(STOCK, reader) == set()
    assert definers(STOCK, missing_symbols(STOCK, reader)) == {("A", "f.o")}
    both = {**option, **reader}
    assert missing_symbols(STOCK, both) == set()


def test_a_stamp_holds_until_something_changes(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "file"
    done = []
    for text, word in (("a", "x"), ("a", "x"), ("a", "y"), ("b", "y")):
        file.write_text(text)
        done.append(step(tmp_path, "step", digest(file, [word]), file, lambda: None))
    assert done == [True, False, True, True]
    with pytest.raises(UpstreamError, match="cannot run"):  # and a step that fails is not done
        step(tmp_path, "step", "new", file, lambda: run(["/no/program"]))
    assert step(tmp_path, "step", digest(file, ["y"]), file, lambda: None)


def test_unit_tests_that_fail_are_an_error() -> None:
    assert passed_tests("[==========] 3 tests ran.\n[  PASSED  ] 3 tests.\n") == 3
    with pytest.raises(UpstreamError, match="FAILED"):
        passed_tests("[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n")
