"""What attaching keeps makes the next process faster and changes nothing else, whatever is found there."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import resource
import shutil
import stat
from collections.abc import Callable
from functools import partial
from typing import Any

import llvmlite
import pytest
from llvmlite.binding import ffi

from optctx import loaded_image
from optctx.engine import kept
from optctx.engine.attach import _Attachment, _prepare, attach
from optctx.engine.engine import Clock
from optctx.engine.host import host_of
from optctx.errors import OptctxError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.loaded import Image
from tests.optctx.engine.attached_plan import KEPT, decided, digests
from tests.support.alone import alone
from tests.support.processes import in_child, run_python

Home = pathlib.Path
REPORT = """
from tests.optctx.engine.attached_plan import report
print(report())
"""
USED = f"""
import sys
import optctx
from tests.support.scopes import four, unrolled
with four():
    assert unrolled() == 4
[image] = optctx.info()["images"]
assert (image["attach_cache"], image["decoder"]) == ("used", "capstone")
assert "capstone" not in sys.modules, "it loads no decoder"
{REPORT}
"""


def lives_in(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Have this process, and those that it starts, keep things there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.delenv(kept.VARIABLE, raising=False)
    return home


@pytest.fixture
def home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Where processes that are started keep things, with nothing in it."""
    return lives_in(tmp_path, monkeypatch)


def attached(script: str = REPORT) -> dict[str, Any]:
    """What a process of its own has decided. Whatever is kept, it says nothing and ends well."""
    found: dict[str, Any] = json.loads(run_python(script))
    return found


def entries(home: Home) -> list[pathlib.Path]:
    return list((home / "cache" / "optctx" / "attach").iterdir())


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, dict[str, Any]]:
    """A home in which one process has kept what it found, and what that has decided."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        lives_in(home, patch)
        found = attached()
    assert found["state"] == "kept"
    assert found["sites"] > 5000
    return home, found


@pytest.fixture
def filled(cold: tuple[Home, dict[str, Any]], home: Home) -> dict[str, Any]:
    """The home has what a process has kept; what that has decided."""
    shutil.copytree(cold[0], home, dirs_exist_ok=True)
    return cold[1]


def test_a_process_that_finds_it_decides_the_same(home: Home, filled: dict[str, Any]) -> None:
    # What earlier versions decided, as well. With other releases: tests/project/test_other_llvmlites.py.
    assert filled["decided"] == json.loads(KEPT.read_text())[llvmlite.__version__]
    [entry] = entries(home)
    before = entry.read_bytes()
    warm = attached(USED)
    assert warm["state"] == "used"
    assert (warm["decided"], warm["sites"]) == (filled["decided"], filled["sites"])
    assert entries(home) == [entry], "nothing is written"
    assert entry.read_bytes() == before
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700, "only this user can read or write it"


def off(home: Home) -> None:
    shutil.rmtree(home)
    os.environ[kept.VARIABLE] = "off"


def one_bit_on_a_full_disk(home: Home) -> None:
    [entry] = entries(home)
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 4
    entry.write_bytes(content)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))


@alone
def test_whatever_is_found_the_same_is_decided(
    cold: tuple[Home, dict[str, Any]], tmp_path: pathlib.Path
) -> None:
    """Each process is a child of one that has worked everything out and attached nothing."""
    image = llvmlite_image()
    expected = decided(_prepare(_Attachment(image), host_of(image), Clock()))
    assert digests(expected).items() <= cold[1]["decided"].items()

    def decides(home: Home, happens: Callable[[Home], object], state: str) -> None:
        lives_in(home, pytest.MonkeyPatch())
        happens(home)
        image.findings.forget()
        engine = attach()
        assert decided(engine) == expected, home.name
        assert engine.kept.startswith(state), (home.name, engine.kept)

    for happens, state in ((off, "OPTCTX_ATTACH_CACHE=off"), (one_bit_on_a_full_disk, "not kept: ")):
        home = shutil.copytree(cold[0], tmp_path / happens.__name__)
        in_child(partial(decides, home, happens, state))
        assert home.exists() == (happens is not off)


@alone
def attach_to_both(home: Home, copy: pathlib.Path, expected: str) -> None:
    lives_in(home, pytest.MonkeyPatch())
    ctypes.CDLL(str(copy))
    other = attach(loaded_image(str(copy)))
    assert (other.kept, attach().kept) == (expected, "used")
    rows, own = (each.plan.references.sites.pack(each.image.base) for each in (other, attach()))
    assert rows == own


def test_another_file_of_the_same_library_is_another_library(
    home: Home, filled: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    copy = tmp_path / "libother.so"
    shutil.copy(ffi.lib._name, copy)
    for expected in ("kept", "used"):
        attach_to_both(home=home, copy=copy, expected=expected)
    assert len(entries(home)) == 2, "one for each"


def test_the_variable_is_read_at_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kept.VARIABLE, "maybe")
    with pytest.raises(OptctxError, match="expected OPTCTX_ATTACH_CACHE to be off or empty, found 'maybe'"):
        kept.Kept(Image(ffi.lib._name, llvmlite_image().base))
