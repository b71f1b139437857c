"""The folder of a compile cache: damaged entries, its size, and what the system refuses."""

from __future__ import annotations

import itertools
import os
import resource
import stat
import time
from functools import partial
from pathlib import Path

import pytest

from optctx import CompileCache, OptctxError
from optctx.store import TAG_SIZE, FolderStore
from tests.support.cache_folders import counts, filled, missed, unrolled_by_four, warned
from tests.support.processes import in_child
from tests.support.scopes import in_threads


@pytest.fixture
def ready(tmp_path: Path) -> None:
    """Everything is imported that a compilation needs: a child of fork may find it out of reach."""
    unrolled_by_four(CompileCache(tmp_path / "ready"))


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_damaged_entry_is_a_miss_and_replaced(tmp_path: Path) -> None:
    damages = flip, lambda file: os.truncate(file, TAG_SIZE - 1)
    for number, (damage, entry) in enumerate(itertools.product(damages, (0, 1))):
        folder = tmp_path / str(number)
        damage(filled(folder)[entry])
        text = missed(folder)
        assert str(folder) in text
        assert "the input is compiled again" in text


def test_processes_that_write_at_once_find_whole_entries(tmp_path: Path) -> None:
    def write() -> None:
        store = FolderStore(tmp_path, 1 << 20)
        mine = os.urandom(1)
        for turn in range(100):
            store.set("k", mine * (1 + turn % 7 * 10_000))
            found = store.get("k")
            assert found is not None
            assert found == found[:1] * len(found)

    in_threads([partial(in_child, write)] * 3)
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".new")] == []


def test_a_folder_is_this_users_alone_and_what_cannot_be_one_is_an_error_at_once(tmp_path: Path) -> None:
    filled(tmp_path / "a" / "cache")
    assert stat.S_IMODE((tmp_path / "a" / "cache").stat().st_mode) == 0o700
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "loop", "a\0b", "/proc/x"):
        with pytest.raises(OptctxError, match="cannot keep compiled code in"):
            CompileCache(path)


def test_where_the_system_has_no_more_of_something_is_a_miss_and_a_warning(
    tmp_path: Path, ready: None
) -> None:
    def work(kind: int, most: int, said: str, kinds: int) -> None:
        cache = CompileCache(tmp_path / str(kind))
        with warned() as texts:
            soft, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (most, hard))
            try:
                assert [unrolled_by_four(cache) for _ in range(3)] == [4, 4, 4]
                assert counts(cache) == (0, 3)
            finally:
                resource.setrlimit(kind, (soft, hard))
            assert list((tmp_path / str(kind)).iterdir()) == []  # no halves either
            assert [unrolled_by_four(cache), unrolled_by_four(cache), counts(cache)] == [4, 4, (1, 4)]
        assert said in texts[-1]
        assert all(str(tmp_path) in text for text in texts)
        assert len(texts) == kinds

    # A full disk: so many bytes of a file. The signal is ignored.
    in_child(partial(work, resource.RLIMIT_FSIZE, 100, "could not keep an entry: File too large", 1))
    in_child(partial(work, resource.RLIMIT_NOFILE, 3, "Too many open files", 2))


KEYS = [f"{number:064x}" for number in range(200)]


def test_the_least_recently_used_go_where_there_are_too_many_bytes(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, 100_000)
    for number, key in enumerate(KEYS):
        store.set(key, b"x" * 1000)
        when = time.time() - 10_000 + number
        file = tmp_path / store._name(key)
        os.utime(file, (when, when))
        if number % 10 == 0:
            store.get(KEYS[0])  # which is used again and again
    sizes = [file.stat().st_size for file in tmp_path.iterdir()]
    assert 80_000 < sum(sizes) < 107_000
    assert store.get(KEYS[0]) == store.get(KEYS[-1]) == b"x" * 1000
    assert store.get(KEYS[1]) is None
    store.set(KEYS[1], b"x" * 100_001)  # never fits
    assert store.get(KEYS[1]) is None
    assert store.get(KEYS[-1]) is not None, "and no entry makes room for it"


def test_what_an_interrupted_writer_left_goes_after_a_while(tmp_path: Path) -> None:
    left = [tmp_path / f"{'0' * 64}.{digit * 16}.new" for digit in "01"]
    for file in left:
        file.write_text("half")
    os.utime(left[0], (0, 0))
    store = FolderStore(tmp_path, 100_000)
    store.set(KEYS[0], b"x")
    assert [file.exists() for file in left] == [False, True]
