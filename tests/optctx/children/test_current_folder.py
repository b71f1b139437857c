"""No process that optctx starts imports from the current folder: it may be a stranger's."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
import zipfile

import pytest

from tests.support.command_lines import several
from tests.support.ir_texts import SCALE
from tests.support.processes import output_of
from tests.support.runs import bitcode
from tests.support.timing_kernels import SUM, TOTAL

# What optctx imports or could import, besides the modules of Python's library.
INSTALLED = [
    *("capstone", "hypothesis", "llvmlite", "msgspec", "numba", "numpy", "optctx", "optuna", "platformdirs"),
    *("pytest", "rich", "scipy", "sqlalchemy", "tblib"),
]
# `posix` is built in.
MARK = "import posix; posix.close(posix.open({path!r}, posix.O_CREAT | posix.O_WRONLY))\n"

COMMANDS = [  # one for each kind of process that commands start
    "sweep module.ll --try unroll-count=1,2 --verify",
    "sweep module.bc --llc=-mcpu=haswell --try unroll-count=1",
    "record module.bc",
]


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Where the modules of the hostile folder leave a file if they run."""
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, marks: pathlib.Path) -> pathlib.Path:
    """A folder with modules to compile, and a Python file for every name that a child may import."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in {*sys.stdlib_module_names, *INSTALLED}:
        (folder / f"{name}.py").write_text(MARK.format(path=str(marks / name)))
    (folder / "module.ll").write_text(SCALE)
    (folder / "module.bc").write_bytes(bitcode(SCALE))
    return folder


def environment(**given: str) -> dict[str, str]:
    """As it is, without what keeps Python from looking into the current folder."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONSAFEPATH", "PYTHONPATH")}
    return {**kept, **given}


def ran(marks: pathlib.Path) -> list[str]:
    """The hostile modules that ran since the last call."""
    found = sorted(path.name for path in marks.iterdir())
    for name in found:
        (marks / name).unlink()
    return found


def test_the_files_mark_what_runs(hostile: pathlib.Path, marks: pathlib.Path) -> None:
    """As Python itself does for `-c` in this folder; on 3.13 and 3.14 before it imports `this`."""
    subprocess.run([sys.executable, "-c", "import this"], cwd=hostile, env=environment())
    assert {"this", "linecache"} & set(ran(marks))


def test_no_command_runs_a_file_of_the_current_folder(
    hostile: pathlib.Path, marks: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """As the installed program runs: without the current folder."""
    commands = map(str.split, COMMANDS)
    ended = several(commands, environment=environment(), file=tmp_path / "run.py", cwd=hostile)
    assert ran(marks) == []
    assert [each for each in ended if each.status] == []


def test_neither_does_a_process_of_the_library(
    hostile: pathlib.Path, marks: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Those that compile for property tests, and call compiled code.

    Of one that ignores the environment: Python would import from there before the first line of a child.
    """
    script = tmp_path / "run.py"
    (tmp_path / "sum.ll").write_text(SUM)
    (tmp_path / "sum_harness.py").write_text(TOTAL.replace("LENGTH", "2048"))
    script.write_text(
        textwrap.dedent("""
            import sys
            from optctx.compiling import Job
            from optctx.testing import Compiler
            from optctx.lab.timing import Bench, find_kernel, harness_of

            with open("module.ll") as file, Compiler() as compiler:
                assert compiler.compile(Job(file.read())).error is None
            with open(sys.argv[1]) as file, Compiler() as compiler:
                job = Job(file.read())
                code = compiler.compile(job).code
            kernel = find_kernel(job, harness_of(sys.argv[2]), "sum.ll")
            assert Bench(code, kernel).check({"same": code})["same"].state == "ok"
        """)
    )
    command = [sys.executable, "-E", str(script), str(tmp_path / "sum.ll"), str(tmp_path / "sum_harness.py")]
    given = environment(PYTHONPATH=os.pathsep)
    done = subprocess.run(command, cwd=hostile, env=given, stderr=subprocess.PIPE)
    assert ran(marks) == []
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_the_parent_has_added_and_was_started_with_reaches_the_child(tmp_path: pathlib.Path) -> None:
    """A folder, an archive, and a folder of the current one; flags."""
    archive, (here, other) = tmp_path / "archive.zip", (tmp_path / "here", tmp_path / "other")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("packed.py", "")
    for folder in (other, here / "below"):
        folder.mkdir(parents=True)
        (folder / f"{folder.name}_own.py").touch()
    script = f"""
import subprocess, sys
sys.path += {[str(archive), str(other), "below"]!r}
from optctx.children.python import python_command
code = "import packed, other_own, below_own; print(sys.flags.no_user_site, sys.flags.utf8_mode)"
sys.exit(subprocess.run(python_command(code)).returncode)
"""
    command = [sys.executable, "-s", "-X", "utf8=1", "-c", script]
    assert output_of(*command, cwd=here, env=environment()) == "1 1\n"
