"""A copy of the repository, with an interpreter and a build folder of its own, for mutations and tests."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from tests.long.mutants.mutation import Mutation, mutated

_GIVE_UP = 60  # seconds that a test may wait (tests/support/processes.py)
_MOST = 1800.0  # seconds; the core part takes two minutes, and on a busy machine ten
_OUTPUT = 2000  # characters that are shown of a run that came to nothing
_LINES = 30  # of a compiler's complaint


class CannotBuildError(Exception):
    """What the compiler says."""


class Replica:
    """Everything is below `folder`. What an earlier run has left there is built on.

    The copy's interpreter finds the copy first, and then what the repository's environment has installed: a
    folder on its path, whose `.pth` files do not count, and with them the editable install.
    """

    def __init__(self, root: pathlib.Path, folder: pathlib.Path, jobs: int) -> None:
        self.tree = folder / "tree"
        self.python = folder / "venv" / "bin" / "python"
        self._root = root
        self._folder = folder
        self._jobs = jobs
        self._cmake = pathlib.Path(sysconfig.get_path("scripts"), "cmake")

    def make(self) -> float:
        """Copy, and build what has changed since an earlier copy. Returns the seconds."""
        began = time.monotonic()
        self._copy()
        if not self.python.exists():
            self._make_interpreter()
        if not (self._folder / "native" / "CMakeCache.txt").exists():
            self._configure()
        self.build()
        return time.monotonic() - began

    def put_in(self, mutation: Mutation) -> None:
        """Put a mutation in, and build it, without the one before."""
        (self.tree / mutation.file(self._root)).write_text(mutated(mutation, self._root))
        self.build()

    def take_out(self, mutation: Mutation) -> None:
        """Restore the file, with a new time. The next `build` builds it."""
        name = mutation.file(self._root)
        shutil.copyfile(self._root / name, self.tree / name)

    def build(self) -> None:
        """Compile what has changed."""
        native = self._folder / "native"
        _run(self._cmake, "--build", native, "--target", "_native", "--parallel", self._jobs)

    def _copy(self) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self._root,
            capture_output=True,
            check=True,
        ).stdout.decode()
        names = {name for name in listed.split("\0") if name and (self._root / name).is_file()}
        for path in [path for path in self.tree.rglob("*") if path.is_file()]:
            if path.suffix != ".so" and str(path.relative_to(self.tree)) not in names:
                path.unlink()
        for name in names:
            source, target = self._root / name, self.tree / name
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)

    def _make_interpreter(self) -> None:
        venv = self._folder / "venv"
        _run(sys.executable, "-m", "venv", "--without-pip", venv)
        packages = next(venv.glob("lib/python*/site-packages"))
        (packages / "mutants.pth").write_text(f"{self.tree}\n{sysconfig.get_path('purelib')}\n")

    def _configure(self) -> None:
        _run(
            self._cmake,
            *("-S", self.tree, "-B", self._folder / "native"),
            f"-DPython_EXECUTABLE={self.python}",
            f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={self.tree / 'optctx' / 'lib'}",
            "-DOPTCTX_LAB=ON",
            "-DOPTCTX_UNITY=OFF",  # a mutation changes one file
            "-DSKBUILD=ON",
        )


def _run(*command: object) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        words = (done.stdout + done.stderr).strip().splitlines()
        raise CannotBuildError("\n".join(words[-_LINES:]))


class Outcome(NamedTuple):
    """`verdict`: "caught" by a test, "hang" (the run has taken too long), "missed", or "no run"."""

    verdict: str
    seconds: float
    test: str = ""  # that failed first
    output: str = ""  # of a hang, and of no run


def run_tests(replica: Replica, tests: Sequence[str], jobs: int, most: float = _MOST) -> Outcome:
    """Run tests until one has failed."""
    output = replica.tree.parent / "output"
    # On a process of its own, a test that dies is one that fails.
    ways = ("-p", "no:cacheprovider", "-n", str(jobs), "--maxfail=1")
    command = (str(replica.python), "-m", "pytest", *ways, "-m", "not long", *tests)
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    began, status = time.monotonic(), None
    with (
        output.open("w") as file,
        subprocess.Popen(
            command,
            cwd=replica.tree,
            env={**environment, "TESTS_SECONDS": str(_GIVE_UP)},
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        ) as pytest,
    ):
        try:
            with suppress(subprocess.TimeoutExpired):
                status = pytest.wait(most)
        finally:  # with all that it has started and that has not left its session's group
            with suppress(ProcessLookupError):
                os.killpg(pytest.pid, signal.SIGKILL)
    seconds, said = time.monotonic() - began, output.read_text(errors="replace")
    if status == 0:
        return Outcome("missed", seconds)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::\S+)", said, re.MULTILINE)  # no file that cannot be imported
    if status is None or failed is None:
        return Outcome("hang" if status is None else "no run", seconds, output=said[-_OUTPUT:])
    return Outcome("caught", seconds, failed[1])
