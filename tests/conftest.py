"""Fixtures and settings that every subject shares."""

from __future__ import annotations

import atexit
import gc
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import just
from llvmlite import binding
from llvmlite.binding import ffi

import optctx
from optctx.compiling import FreshProcess, initialise_targets
from tests.support import runs
from tests.support.bare_llvm import digests_by_argument
from tests.support.cpp_build import Build, build_cpp
from tests.support.examples import REPEATABLE
from tests.support.installed import FREE_THREADED
from tests.support.scopes import OUTSIDE, both, process_state, scopes_become

# What attaching keeps for the next process, and programs of C++, are those of a run of the tests: in every
# process that they start, and in all of pytest-xdist.
_KEPT = os.environ.get("TESTS_KEPT") or tempfile.mkdtemp(prefix="optctx-tests-")
_OWNER = None if "TESTS_KEPT" in os.environ else os.getpid()
os.environ["TESTS_KEPT"] = os.environ["XDG_CACHE_HOME"] = _KEPT
# What a person or a forge may have set, and what is printed depends on; a test of it sets it itself.
for _name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"):
    os.environ.pop(_name, None)


settings.load_profile(REPEATABLE)


@atexit.register
def _remove_kept() -> None:
    """Leave the folder to the process that made it: forked ones end, too."""
    if os.getpid() == _OWNER:
        shutil.rmtree(_KEPT, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Of a cycle, a free-threaded collector may end a socket or a Popen before what would close it."""
    if FREE_THREADED:
        config.addinivalue_line("filterwarnings", "ignore:(unclosed|subprocess) :ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what has no wheel for a free-threaded Python."""
    if FREE_THREADED:
        skip = pytest.mark.skip(reason="needs iced-x86, which has no wheel for a free-threaded Python")
        for item in items:
            if item.get_closest_marker("iced"):
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Keep what collecting has made out of every later `gc.collect()`: it stays until the end anyway."""
    # At its first example, Hypothesis asks what refers to its generator. On Python 3.15, freezing hides that.
    given(just(None))(lambda _: None)()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def fresh() -> Iterator[FreshProcess]:
    """The reference: what a process gives in which the options are set for everybody."""
    with FreshProcess() as fresh:
        yield fresh


@pytest.fixture(scope="session")
def second_library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy of llvmlite's library: loaded, it is another LLVM."""
    return pathlib.Path(shutil.copy(ffi.lib._name, tmp_path_factory.mktemp("second") / "libsecond.so"))


@pytest.fixture(scope="session")
def second_digests(second_library: pathlib.Path) -> dict[str, dict[str, str]]:
    """What that gives without optctx, by the argument that its process was given; "" for none."""
    return digests_by_argument(second_library, ["", *(f"-unroll-count={count}" for count in range(2, 6))])


@pytest.fixture(scope="session")
def build() -> Build:
    """Compile C++, once for all tests that ask."""
    return build_cpp


@pytest.fixture(scope="session")
def attached() -> None:
    """Every target is there, and bindings count."""
    initialise_targets()
    optctx.attach()


@pytest.fixture
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are timed in three rounds: for a test in which no figure counts."""
    monkeypatch.setattr("optctx.lab.timing.bench._LEAST_ROUNDS", 3)


@pytest.fixture
def collected() -> None:
    """What earlier tests left as garbage has ended, such as bindings that this one counts."""
    gc.collect()


@pytest.fixture
def attributes() -> Iterator[None]:
    """Attributes of functions count, and may set what is only tuning; one that is refused is an error."""
    optctx.attach(attributes="error", trust=("tuning",))
    yield
    optctx.attach(attributes="ignore", trust=("tuning",))


@pytest.fixture
def llvm_context() -> Iterator[Any]:
    """An LLVMContext for the test alone."""
    with binding.create_context() as made:
        yield made


@pytest.fixture
def machine() -> Iterator[Any]:
    """A target machine for the test alone."""
    with runs.machine() as made:
        yield made


@pytest.fixture
def unchanged() -> Iterator[None]:
    """The test leaves every option of the process as it was."""
    before = process_state()
    yield
    assert process_state() == before
    assert not optctx.drift()


@pytest.fixture
def outside() -> Iterator[None]:
    """The test begins and ends outside any scope, on all threads."""
    scopes_become(0)
    yield
    scopes_become(0)
    assert both() == OUTSIDE
