"""No process that optctx starts imports from the current folder: it may be a stranger's."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time
import zipfile

import llvmlite
import pytest
from llvmlite import binding

from optctx.children.python import python_command
from optctx.lab.timing import run_command
from tests.support.ir_texts import SCALE
from tests.support.processes import SECONDS
from tests.support.timing_kernels import SUM, compiled, sum_harness

# What optctx imports or could import, besides the modules of Python's library.
INSTALLED = [
    *("capstone", "cloudpickle", "cma", "dask", "distributed", "hypothesis", "llvmlite"),
    *("matplotlib", "numba", "numpy", "optctx", "optuna", "pytest", "rich", "scipy", "shtab", "sqlalchemy"),
]
# `posix` is built in.
MARK = "import posix; posix.close(posix.open({path!r}, posix.O_CREAT | posix.O_WRONLY))\n"

# Each command line of optctx in one process, as the installed program runs it: without the current folder.
RUN = """
import json, os, sys
from optctx.lab.command.main import main

status = {" ".join(words): main(words) for words in json.loads(sys.argv[1])}
with open(sys.argv[2], "w") as file:
    json.dump(status, file)
"""
COMMANDS = [  # one for each kind of process that commands start
    "sweep module.ll --try unroll-count=1,2 --verify",
    "sweep module.bc --cpu haswell",
    "record module.bc",
]
MORE = [
    "rank module.ll --only unroll-count",
    "record module.ll",
    "check-link module.bc",
    "tune module.ll --try unroll-count=1,2 --trials 2",
    "info",
    "show unroll-count",
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
    with binding.create_context() as context, binding.parse_assembly(SCALE, context) as module:
        (folder / "module.bc").write_bytes(module.as_bitcode())
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
    """As Python itself does for `-c` in this folder."""
    subprocess.run([sys.executable, "-c", "import this"], cwd=hostile, env=environment())
    assert "this" in ran(marks)


# The second environment is one that the parent ignores itself.
@pytest.mark.redirected
@pytest.mark.parametrize(
    ("flags", "path", "lines"),
    [
        ((), None, COMMANDS),
        (("-E",), os.pathsep, COMMANDS[:1]),
        pytest.param((), None, MORE, marks=pytest.mark.long),
    ],
    ids=["commands", "environment ignored", "more commands"],
)
def test_no_command_runs_a_file_of_the_current_folder(
    flags: tuple[str, ...],
    path: str | None,
    lines: list[str],
    hostile: pathlib.Path,
    marks: pathlib.Path,
    tmp_path: pathlib.Path,
) -> None:
    script, statuses = tmp_path / "run.py", tmp_path / "status.json"
    script.write_text(RUN)
    commands = [command.split() for command in lines]
    done = subprocess.run(
        [sys.executable, *flags, str(script), json.dumps(commands), str(statuses)],
        cwd=hostile,
        env=environment() if path is None else environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ran(marks) == []
    assert done.returncode == 0, done.stderr
    assert set(json.loads(statuses.read_text()).values()) == {0}, done.stderr


def test_neither_does_a_process_of_the_library(
    hostile: pathlib.Path, marks: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Those that compile for property tests, call compiled code, and witness the end of a test run."""
    script, said = tmp_path / "run.py", tmp_path / "said"
    (tmp_path / "sum.o").write_bytes(compiled(SUM))
    script.write_text(
        textwrap.dedent("""
            import os, sys
            from optctx.compiling import Job
            from optctx.testing import Compiler
            from optctx.testing.last_line import Witness
            from optctx.lab.timing import Harness, check

            with open("module.ll") as file, Compiler() as compiler:
                assert compiler.compile(Job(file.read())).error is None
            with open(sys.argv[2], "rb") as file:
                code = file.read()
            assert check(Harness.loads(sys.argv[1]), code, {"same": code})["same"].state == "ok"
            Witness().__enter__().sees("a test")
            os._exit(3)
        """)
    )
    command = [sys.executable, str(script), sum_harness().dumps(), str(tmp_path / "sum.o")]
    with said.open("w+b") as file:
        status = subprocess.run(command, cwd=hostile, env=environment(), stderr=file).returncode
    deadline = time.monotonic() + SECONDS
    while not said.read_text() and not list(marks.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)  # the witness writes when it has seen the end
    assert ran(marks) == []
    assert status == 3, said.read_text()
    assert said.read_text() == "\noptctx: the process ended in a test: it printed nothing\n"


def test_neither_does_the_command_that_calls_an_object(
    hostile: pathlib.Path, marks: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "sum.o").write_bytes(compiled(SUM))
    command = run_command(sum_harness(), tmp_path / "sum.o", 1)
    for given in (environment(), *(environment(PYTHONPATH=path) for path in ("", os.pathsep, "."))):
        done = subprocess.run(command, cwd=hostile, env=given, capture_output=True, text=True)
        assert ran(marks) == [], given.get("PYTHONPATH")
        assert done.returncode == 0, done.stderr


def found_by_child(
    cwd: pathlib.Path, module: str, *, before: str = "", environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Where a child finds a module, of a parent that Python started with `-c` in a folder."""
    script = f"""
import subprocess, sys
{before}
from optctx.children.python import python_command
child = python_command("import {module}; print({module}.__file__)")
sys.exit(subprocess.run(child).returncode)
"""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_a_file_of_the_current_folder_is_not_found(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mine.py").touch()
    done = found_by_child(tmp_path, "mine", before="import mine", environment=environment())
    assert "No module named 'mine'" in done.stderr
    relative = environment(PYTHONPATH=f".{os.pathsep}")
    assert "No module named 'mine'" in found_by_child(tmp_path, "mine", environment=relative).stderr


def test_a_folder_that_pythonpath_names_in_full_stays(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mine.py").touch()
    given = environment(PYTHONPATH=str(tmp_path))
    assert found_by_child(tmp_path, "mine", environment=given).stdout == f"{tmp_path / 'mine.py'}\n"


def test_what_the_parent_added_is_found(tmp_path: pathlib.Path) -> None:
    """A folder, an archive, and a folder of the current one."""
    archive, (here, other) = tmp_path / "archive.zip", (tmp_path / "here", tmp_path / "other")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("packed.py", "")
    for folder in (other, here / "below"):
        folder.mkdir(parents=True)
        (folder / f"{folder.name}_own.py").touch()
    for module, entry in (("packed", archive), ("other_own", other), ("below_own", "below")):
        added = f"sys.path.append({str(entry)!r})"
        done = found_by_child(here, module, before=added, environment=environment())
        assert done.returncode == 0, done.stderr


def test_the_parents_llvmlite_is_found_although_it_is_in_the_current_folder(tmp_path: pathlib.Path) -> None:
    """It runs in the parent, so the folder is trusted already."""
    (tmp_path / "llvmlite").symlink_to(os.path.dirname(llvmlite.__file__))
    done = found_by_child(tmp_path, "llvmlite", before="import llvmlite", environment=environment())
    assert done.stdout == f"{tmp_path / 'llvmlite' / '__init__.py'}\n"
    done = found_by_child(tmp_path, "llvmlite", before="sys.path.remove('')", environment=environment())
    assert done.stdout == f"{llvmlite.__file__}\n"


def test_a_parent_without_the_users_packages_has_children_without() -> None:
    script = "import subprocess; from optctx.children.python import python_command; " + (
        "subprocess.run(python_command('import sys; print(sys.flags.no_user_site, sys.flags.utf8_mode)'))"
    )
    command = [sys.executable, "-s", "-X", "utf8=1", "-c", script]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "1 1\n"


def test_arguments_reach_the_child_as_they_are() -> None:
    done = subprocess.run(
        python_command("print(sys.argv[1:])", "a b", "{c}", "-d"), capture_output=True, text=True
    )
    assert done.stdout == "['a b', '{c}', '-d']\n"
