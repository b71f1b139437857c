"""The folder of a compile cache: its permissions, its size, and what the system refuses."""

from __future__ import annotations

import os
import resource
import stat
import time
from functools import partial
from pathlib import Path

import pytest

from optctx import CacheWarning, CompileCache, OptctxError
from optctx.folders import store as folder_module
from optctx.folders.files import TAG_SIZE, UnusableError, make_own_folder
from optctx.folders.store import FolderStore
from tests.support.cache_folders import (
    KEY,
    counts,
    drop_capabilities,
    filled,
    missed,
    unrolled_by_four,
    used,
    warned,
)
from tests.support.garbage import left_behind, no_collector
from tests.support.processes import SECONDS, in_child


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def ready() -> None:
    """Everything is imported that a compilation needs: a child of fork may find it out of reach."""
    with CompileCache() as cache:
        unrolled_by_four(cache)


def test_a_folder_is_made_for_this_user_alone_with_those_it_is_in(tmp_path: Path) -> None:
    for mask in (0, 0o22, 0o277, 0o777):
        outermost = tmp_path / oct(mask)
        before = os.umask(mask)
        try:
            files = filled(outermost / "a" / "cache")
        finally:
            os.umask(before)
        assert all(mode(file) & 0o077 == 0 for file in files)
        assert [mode(path) for path in (outermost, outermost / "a", outermost / "a" / "cache")] == [0o700] * 3


def test_who_can_write_to_a_folder_decides_whether_it_needs_a_key(tmp_path: Path) -> None:
    """With a key, its entries are for those whom the folder is for."""
    for permissions, of_entries, taken in (
        (0o700, 0o600, True),
        (0o755, 0o644, True),
        (0o720, 0o620, False),
        (0o702, 0o602, False),
        (0o2770, 0o660, False),
        (0o1777, 0o666, False),
    ):
        folder = tmp_path / oct(permissions)
        folder.mkdir()
        folder.chmod(permissions)
        if not taken:
            said = rf"other users can write to it \(mode {permissions:04o}\).*chmod go-w.*key="
            with pytest.raises(OptctxError, match=said):
                CompileCache(folder)
        assert {mode(file) for file in filled(folder, KEY)} == {of_entries}
        assert used(folder, KEY) == ((1, 0), [])
        if taken:
            assert used(folder) == ((0, 1), [])
        assert mode(folder) == permissions


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes another user the owner, as far as this process can tell."""
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)


def test_the_folder_of_another_user_is_refused_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_away(tmp_path, monkeypatch)
    with pytest.raises(OptctxError, match=r"user \d+ owns it \(this is user \d+\)"):
        CompileCache(tmp_path)
    filled(tmp_path, KEY)


def test_the_entry_of_another_user_is_a_miss_without_a_key(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, which can give a file away")
    for file in filled(tmp_path):
        os.chown(file, 12345, -1)
    assert "user 12345 owns it" in missed(tmp_path)


def test_a_folder_that_others_can_write_to_later_is_a_miss_from_then_on(tmp_path: Path) -> None:
    filled(tmp_path)
    with warned() as texts, CompileCache(tmp_path) as cache:
        tmp_path.chmod(0o777)
        assert [unrolled_by_four(cache) for _ in range(3)] == [4, 4, 4]
        cache.clear()
        assert counts(cache) == (0, 3)
        tmp_path.chmod(0o700)
        assert [unrolled_by_four(cache), counts(cache)] == [4, (1, 3)]
    (text,) = texts
    assert "(mode 0777)" in text


def test_what_cannot_be_a_folder_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for path in (
        tmp_path / "file",
        tmp_path / "file" / "below",
        tmp_path / "loop",
        "a\0b",
        "\ud800",
        "/proc/x",
    ):
        with pytest.raises(OptctxError, match="cannot keep compiled code in"):
            CompileCache(path)
    with pytest.raises(OptctxError, match="File name too long"):
        CompileCache(tmp_path / ("x" * 300))
    with pytest.raises(TypeError):
        CompileCache(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="size_limit"):
        CompileCache(tmp_path, size_limit=None)  # type: ignore[arg-type]


def test_a_relative_folder_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with CompileCache("cache") as cache:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        unrolled_by_four(cache)
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_folder_that_is_removed_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with warned() as texts, CompileCache(folder) as cache:
        for _ in range(2):
            assert unrolled_by_four(cache) == 4
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
        cache.clear()
        assert counts(cache) == (0, 2)
    assert texts == []


def test_where_the_system_has_no_more_of_something_is_a_miss_and_one_warning(
    tmp_path: Path, ready: None
) -> None:
    def work(kind: int, most: int, said: str) -> None:
        with warned() as texts, CompileCache(tmp_path / str(kind)) as cache:
            soft, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (most, hard))
            try:
                assert [unrolled_by_four(cache) for _ in range(3)] == [4, 4, 4]
                assert counts(cache) == (0, 3)
            finally:
                resource.setrlimit(kind, (soft, hard))
            assert list((tmp_path / str(kind)).iterdir()) == []  # no halves either
            assert [unrolled_by_four(cache), unrolled_by_four(cache), counts(cache)] == [4, 4, (1, 4)]
        (text,) = texts
        assert said in text
        assert str(tmp_path) in text

    # A full disk: so many bytes of a file. The signal is ignored.
    in_child(partial(work, resource.RLIMIT_FSIZE, 100, "could not keep an entry: File too large"))
    in_child(partial(work, resource.RLIMIT_NOFILE, 3, "Too many open files"))


def test_a_folder_that_cannot_be_written_gives_what_it_has_and_a_closed_one_is_an_error(
    tmp_path: Path, ready: None
) -> None:
    def work() -> None:
        drop_capabilities()
        for path in (closed, closed / "cache"):
            with pytest.raises(OptctxError, match="Permission denied"):
                CompileCache(path)
        with warned() as texts, CompileCache(folder) as cache:
            assert [unrolled_by_four(cache), counts(cache)] == [4, (1, 0)]
            for file in files[:1]:
                file.chmod(0)
            assert [unrolled_by_four(cache) for _ in range(2)] == [4, 4]
            assert counts(cache) == (1, 2)
            cache.clear()
        reading, writing, clearing = texts
        assert "Permission denied" in reading
        assert "could not keep an entry: Permission denied" in writing
        assert "could not drop every entry: Permission denied" in clearing

    folder, closed = tmp_path / "cache", tmp_path / "closed"
    files = filled(folder)
    folder.chmod(0o500)
    closed.mkdir(mode=0)
    in_child(work)
    folder.chmod(0o700)


def test_a_warning_that_is_an_error_reaches_the_caller(tmp_path: Path) -> None:
    for file in filled(tmp_path):
        file.write_bytes(b"")
    with CompileCache(tmp_path) as cache:
        with pytest.raises(CacheWarning):  # as everywhere in the tests
            unrolled_by_four(cache)
        assert unrolled_by_four(cache) == 4


def test_what_a_signal_handler_raises_is_no_problem_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **named: object) -> bytes:
        raise TimeoutError("the program's own")

    filled(tmp_path)
    for place, name in ((folder_module, "read_all"), (os, "replace")):
        with monkeypatch.context() as patch, CompileCache(tmp_path) as cache:
            patch.setattr(place, name, interrupted)
            if name == "replace":
                cache.clear()
            with no_collector():
                with pytest.raises(TimeoutError, match="the program's own"):
                    unrolled_by_four(cache)
                assert left_behind() == []
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".new")] == []


KEYS = [f"{number:064x}" for number in range(200)]


def test_the_least_recently_used_go_where_there_are_too_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "_SCAN_SECONDS", SECONDS)  # all entries are looked at
    store = FolderStore(tmp_path, 100_000, None)
    for number, key in enumerate(KEYS):
        store.set(key, b"x" * 1000)
        when = time.time() - 10_000 + number
        file = tmp_path / store._seal.name(key)
        os.utime(file, (when, when))
        if number % 10 == 0:
            store.get(KEYS[0])  # which is used again and again
    sizes = [file.stat().st_size for file in tmp_path.iterdir()]
    assert 80_000 < sum(sizes) < 107_000
    assert store.get(KEYS[0]) == store.get(KEYS[-1]) == b"x" * 1000
    assert store.get(KEYS[1]) is None
    store.set(KEYS[1], b"x" * 100_001)  # never fits
    assert store.get(KEYS[1]) is None


def test_a_file_that_is_larger_than_any_entry_is_neither_read_nor_counted(tmp_path: Path) -> None:
    _, result = filled(tmp_path)
    os.truncate(result, (1 << 26) + TAG_SIZE + 1)
    planted = tmp_path / ("f" * 64)
    planted.write_bytes(b"")
    os.truncate(planted, 1 << 40)
    assert f"an entry has {1 << 26} at most" in missed(tmp_path)
    assert not planted.exists()


def test_what_an_interrupted_writer_left_goes_after_a_while(tmp_path: Path) -> None:
    left = [tmp_path / f"{'0' * 64}.{digit * 16}.new" for digit in "01"]
    for file in left:
        file.write_text("half")
    os.utime(left[0], (0, 0))
    store = FolderStore(tmp_path, 100_000, None)
    store.set(KEYS[0], b"x")
    assert [file.exists() for file in left] == [False, True]


def test_nothing_is_raised_where_the_folder_has_become_a_file(tmp_path: Path) -> None:
    steps = {CompileCache.clear: 1, CompileCache.close: 0, unrolled_by_four: 1}  # and its warnings
    for number, (step, warnings) in enumerate(steps.items()):
        folder = tmp_path / str(number)
        with warned() as texts, CompileCache(folder) as cache:
            folder.rmdir()
            folder.write_text("")
            step(cache)
        assert len(texts) == warnings, step


def test_a_home_of_another_user_gets_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UnusableError, match="belongs to another user"):
        make_own_folder(str(tmp_path / "cache" / "optctx"))
    assert not list(tmp_path.iterdir())
