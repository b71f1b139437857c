"""The source-level prototype, as far as it goes without LLVM's sources: its patches and its driver."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
from collections import Counter
from collections.abc import Iterator

import pytest

from evidence.upstream import moved, patches
from evidence.upstream.__main__ import main
from evidence.upstream.breaks import without_helpers
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
from evidence.upstream.shell import UpstreamError
from evidence.upstream.stamps import Stamp, digest
from evidence.upstream.unit import passed_tests
from tests.support.rows import rows

pytestmark = pytest.mark.long

SERIES = patches.series()


def faults(patch: patches.Patch, number: int, changed: Counter[str]) -> Iterator[str]:
    """What is wrong with a patch; `changed`: how many patches of the series change a file."""
    text = patch.path.read_text()
    if not patch.path.stem.startswith(f"{number:04}-"):
        yield "is not called after its place in the series"
    if len(patch.subject) > 70:
        yield "has a long subject"
    if not any(text.split("\n---\n")[0].splitlines()[2:]):
        yield "does not say why"
    for file in patch.files:
        if not file.startswith("llvm/") or ".." in file:
            yield f"leaves LLVM: {file}"
        if changed[file] > 1:
            yield f"changes what another one changes: {file}"
    hunks = len(re.findall(r"^@@ ", text, re.MULTILINE))
    # Three lines around each change, and what lies between changes that are close.
    if len(re.findall(r"^ ", text, re.MULTILINE)) > 12 * hunks + patch.added:
        yield "has more of LLVM than context"


def test_patches_say_what_they_do_and_stay_inside_llvm() -> None:
    changed = Counter(file for patch in SERIES for file in patch.files)
    found = [
        f"{patch.path.name} {fault}"
        for number, patch in enumerate(SERIES, 1)
        for fault in faults(patch, number, changed)
    ]
    assert found == []


@rows(
    ("hunk", "problem"),
    [
        ("@@ -1,3 +1,4 @@\n a\n+b\n c\n", "fewer lines than it says"),
        ("@@ -1,1 +1,2 @@\n a\n-b\n+c\n+d\n", "more lines than it says"),
        ("", "changes nothing"),
        (None, "no patches"),
    ],
)
def test_a_malformed_series_is_refused(tmp_path: pathlib.Path, hunk: str | None, problem: str) -> None:
    folder = tmp_path / problem
    folder.mkdir()
    if hunk is not None:
        text = f"Subject: x\n\nwhy\n---\n--- a/llvm/f\n+++ b/llvm/f\n{hunk}"
        (folder / "0001-x.patch").write_text(text)
    with pytest.raises(UpstreamError, match=problem):
        patches.series(folder)


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
    with pytest.raises(UpstreamError, match=r"0001-x\.patch"):
        patches.apply(write_series(tmp_path / "a", NEW, wrong), source)
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
    for package in ("llvm-19-dev", "cmake", "ninja-build", "clang-19", "valgrind"):
        assert package in said.err
    assert "apt-get install" in said.err
    assert not (tmp_path / "build").exists()


@rows("arguments", [["--jobs", "0"], ["--jobs", "many"], ["--every"], ["now"]])
def test_bad_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_tags_are_taken_out_of_names() -> None:
    assert untagged("_Z19UseNewDbgInfoFormatB6optctx") == "UseNewDbgInfoFormat"
    assert untagged("_ZN4llvm6PassesB6optctxE") == "_ZN4llvm6PassesE"
    assert untagged("_ZN4llvm4nameE") == "_ZN4llvm4nameE"


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
    file.write_text("a")
    stamp = Stamp(tmp_path, "step")
    assert not stamp.holds(digest(file, ["x"]))
    stamp.set(digest(file, ["x"]))
    assert stamp.holds(digest(file, ["x"]))
    assert not stamp.holds(digest(file, ["y"]))
    file.write_text("b")
    assert not stamp.holds(digest(file, ["x"]))


def test_strings_can_be_taken_their_interface() -> None:
    added = "\n".join(re.findall(r"^\+(?!\+\+)(.*)", SERIES[0].path.read_text(), re.MULTILINE))
    bare = without_helpers(added)
    assert "operator const std::string &()" in bare
    assert "c_str()" in added
    assert "c_str()" not in bare
    with pytest.raises(UpstreamError, match="one part"):
        without_helpers("class opt;")


def test_unit_tests_that_fail_are_an_error() -> None:
    assert passed_tests("[==========] 3 tests ran.\n[  PASSED  ] 3 tests.\n") == 3
    with pytest.raises(UpstreamError, match="FAILED"):
        passed_tests("[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n")


def checkout(folder: pathlib.Path) -> pathlib.Path:
    """A small one: three options in C++, two fields, and what only looks like either."""
    for name, text in {
        "lib/IR/Core.cpp": 'static cl::opt<bool> A("in-cpp", cl::desc("x"));\n// cl::opt<int> No("no");\n',
        "lib/Target/X86/X86.cpp": 'cl::opt<Enum<int>, true> B(\n    "of-x86", cl::location(V));\n'
        'extern cl::opt<int> B2;\nvoid f(cl::opt<int> &O);\ncl::list<std::string> ns::C{"a-list"};\n',
        "lib/Passes/PassesOptions.td": 'include "llvm/Option/LibraryOptions.td"\n'
        'defm : BoolField<"a-field", "false", "x">;\ndefm Named : ValueField<\n  "another", "int">;\n',
        "lib/Passes/Other.td": 'defm : BoolField<"no-options", "false", "x">;\n',
        "include/llvm/Passes/P.h": "bool perContext;\n",
    }.items():
        path = folder / "llvm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_options_of_a_checkout_are_counted_where_they_are(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = moved.count_moved(checkout(tmp_path) / "llvm")
    assert found.declared == {"IR": ["in-cpp"], "Target/X86": ["of-x86", "a-list"]}
    assert found.fields == {"Passes": ["a-field", "another"]}
    assert found.per_context == ["include/llvm/Passes/P.h"]
    census = tmp_path / "census.json"
    names = ("in-cpp", "a-field", "another", "gone")
    census.write_text(json.dumps({"options": [{"name": name} for name in names]}))
    assert moved.main([str(tmp_path), "--census", str(census)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    assert ["all", "3", "2"] in rows
    assert [row[0] for row in rows[-3:]] == ["2", "1", "1"]


def test_a_folder_that_is_no_checkout_is_one_error(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert moved.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"moved: {tmp_path} has no llvm/lib/IR; name a checkout of LLVM\n"
