"""Compile caches in hostile folders: nothing there makes a compilation fail, wait or give other code."""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from optctx import CompileCache, OptctxError
from optctx.folders.files import TAG_SIZE
from tests.support.cache_folders import KEY, counts, filled, missed, plant, unrolled_by_four, used, warned
from tests.support.processes import SECONDS

OTHER_KEY = KEY[::-1]


def link(file: Path, target: str) -> None:
    file.unlink()
    file.symlink_to(target)


def fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def listening(file: Path) -> None:
    file.unlink()
    here = os.getcwd()
    os.chdir(file.parent)  # a socket's address is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(file.name)
    finally:
        os.chdir(here)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    file.write_bytes(content)


FILES: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "shorter than a tag": lambda file: os.truncate(file, TAG_SIZE - 1),
    "one bit": flip,
    "a terabyte": lambda file: os.truncate(file, 1 << 40),
    "as large as an entry may be": lambda file: os.truncate(file, (1 << 26) + TAG_SIZE),
    "link to a device that never ends": lambda file: link(file, "/dev/zero"),
    "link to nothing": lambda file: link(file, "nothing"),
    "FIFO": fifo,
    "socket": listening,
    "writable by others": lambda file: file.chmod(0o666),
}


def test_an_entry_that_is_no_longer_one_is_a_miss_and_replaced(tmp_path: Path) -> None:
    for attack, key in itertools.product(FILES, (None, KEY)):
        if (attack, key) == ("writable by others", KEY):
            continue  # a key tells by itself whether another user has written there
        folder = tmp_path / f"{attack}, {key!r}"
        for file in filled(folder, key):
            FILES[attack](file)
        text = missed(folder, key)
        assert str(folder) in text
        assert "the input is compiled again" in text


VALUES: dict[str, bytes] = {
    "a pickle that runs code": b"cbuiltins\nexec\n(Vraise SystemExit(7)\ntR.",
    "no UTF-8": b"\xff\n\n",
    "more ways than there are": b"a\n\n" * 300_000,
    "only ways": b"\n" * 1_000_000,
    "names without end": b"unroll-count\n" * 1_000,
    "longer than it is": struct.pack("<?QQ", True, 2**64 - 1, 1),
    "IR that is no UTF-8": struct.pack("<?QQ", True, 2, 1) + b"\xff\xff",
    "code in place of IR": struct.pack("<?QQ", False, 0, 1) + b"code",
    "half a header": b"\1",
}


def test_a_value_with_the_right_digest_that_holds_no_entry_is_a_miss(tmp_path: Path) -> None:
    for name, value in VALUES.items():
        for number in range(2):  # in place of what was read, and of the result
            folder = tmp_path / f"{name} {number}"
            plant(filled(folder)[number], value)
            assert "holds no entry" in missed(folder), folder


def test_as_many_names_as_an_entry_may_have_take_little_time_and_memory(tmp_path: Path) -> None:
    reads, _ = filled(tmp_path / "cache")
    ways = b"".join(b"%d\n" % way + b"x\n" * 2000 + b"\n" for way in range(250))
    assert len(ways) > 1_000_000
    plant(reads, ways)
    tracemalloc.start()
    try:
        # Names of options that another version of LLVM might have.
        assert used(tmp_path / "cache") == ((0, 1), [])
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_entries_under_each_others_names_are_a_miss(tmp_path: Path) -> None:
    for key in (None, KEY):
        folder = tmp_path / str(key)
        reads, result = filled(folder, key)
        one, other = reads.read_bytes(), result.read_bytes()
        reads.write_bytes(other)
        result.write_bytes(one)
        assert "damaged or forged" in missed(folder, key)


def test_a_folder_in_place_of_an_entry_is_a_miss_every_time(tmp_path: Path) -> None:
    for file in filled(tmp_path / "cache"):
        file.unlink()
        file.mkdir()
    with warned() as texts, CompileCache(tmp_path / "cache") as cache:
        assert [unrolled_by_four(cache) for _ in range(3)] == [4, 4, 4]
        assert counts(cache) == (0, 3)
        cache.clear()
    read, written, cleared = texts
    assert "not a regular file" in read
    assert "could not keep" in written
    assert "could not drop" in cleared


LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)  # whoever opens the file is announced by it
files = [os.open(path, os.O_RDWR) for path in sys.argv[1:]]
for file in files:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.read()
"""


def test_no_lock_and_no_lease_of_another_process_makes_a_compilation_wait(tmp_path: Path) -> None:
    """Opening a file with a lease otherwise takes as long as /proc/sys/fs/lease-break-time, 45 seconds."""
    files = filled(tmp_path / "cache")
    opened = [os.open(path, os.O_RDONLY) for path in (*files, tmp_path / "cache")]
    for file in opened:
        fcntl.flock(file, fcntl.LOCK_EX)
    assert used(tmp_path / "cache") == ((1, 0), [])
    with CompileCache(tmp_path / "locked") as cache:
        opened.append(os.open(tmp_path / "locked", os.O_RDONLY))
        fcntl.flock(opened[-1], fcntl.LOCK_EX)
        assert (unrolled_by_four(cache), unrolled_by_four(cache), counts(cache)) == (4, 4, (1, 1))
        cache.clear()
        assert (unrolled_by_four(cache), counts(cache)) == (4, (1, 2))
    for file in opened:
        os.close(file)
    command = [sys.executable, "-c", LEASE, *map(str, files)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        found, texts = used(tmp_path / "cache")
        assert (found, len(texts)) == ((0, 1), 1)
        holder.communicate(timeout=SECONDS)


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    filled(folder)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (folder / "notes").write_text("mine")
    (folder / ("0" * 64)).symlink_to(victim)
    (folder / ("1" * 64)).symlink_to(tmp_path)
    with CompileCache(folder, size_limit=1) as cache:  # everything goes
        unrolled_by_four(cache)
        cache.clear()
    assert [path.name for path in folder.iterdir()] == ["notes"]
    assert victim.read_text() == "precious"


def test_nothing_is_found_that_was_not_stored_under_the_key(tmp_path: Path) -> None:
    """The attacker knows everything but the key: formats, names, and entries of before."""
    planted = struct.pack("<?QQ", True, 7, 1) + b"planted"
    for forged_under in (None, OTHER_KEY):
        folder = tmp_path / repr(forged_under)
        reads, result = filled(folder, KEY)
        for file in (reads, result):
            plant(file, file.read_bytes()[TAG_SIZE:], forged_under)
        assert missed(folder, KEY)
        plant(result, planted, forged_under)  # what was read is genuine
        assert missed(folder, KEY)
    # Without a key it is the others who may not write to the folder.
    _, result = filled(tmp_path / "cache")
    plant(result, planted)
    with warned() as texts, CompileCache(tmp_path / "cache") as cache:
        assert (unrolled_by_four(cache), counts(cache)) == (0, (1, 0))
    assert texts == []


def test_caches_with_different_keys_share_a_folder_and_no_entry(tmp_path: Path) -> None:
    for found in ((0, 1), (1, 0)):
        for key in (KEY, OTHER_KEY, None):
            assert used(tmp_path / "cache", key) == (found, [])


def test_a_key_is_checked_and_never_shown(tmp_path: Path) -> None:
    with pytest.raises(OptctxError, match="expected 16 bytes or more, found 15") as short:
        CompileCache(tmp_path / "cache", key=KEY[:15])
    said = "expected bytes or None as key of a compile cache, found str"
    with pytest.raises(TypeError, match=said) as text:
        CompileCache(tmp_path / "cache", key="secret-secret-secret")  # type: ignore[arg-type]
    assert "secret" not in str(text.value)
    assert "0123" not in str(short.value)
    with CompileCache(tmp_path / "cache", key=KEY) as cache:
        store = cache._store
        shown = [repr(cache), repr(store), repr(vars(cache)), repr(vars(store)), repr(vars(store._seal))]  # type: ignore[union-attr]
    assert not any("0123" in each for each in shown)
