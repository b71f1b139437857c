"""No process that optctx starts imports from the current folder: it may be a stranger's."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
import zipfile

import pytest

from tests.support.ir_texts import SCALE
from tests.support.processes import output_of

# What optctx imports or could import, besides the modules of Python's library.
INSTALLED = [
    *("capstone", "hypothesis", "llvmlite", "msgspec", "numba", "numpy", "optctx", "optuna", "platformdirs"),
    *("pytest", "rich", "scipy", "sqlalchemy", "tblib"),
]
# `posix` is built in.
MARK = "import posix; posix.close(posix.open({path!r}, posix.O_CREAT | posix.O_WRONLY))\n"


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Where the modules of the hostile folder leave a file if they run."""
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, marks: pathlib.Path) -> pathlib.Path:
    """A folder with a module to compile, and a Python file for every name that a child may import."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in {*sys.stdlib_module_names, *INSTALLED}:
        (folder / f"{name}.py").write_text(MARK.format(path=str(marks / name)))
    (folder / "module.ll").write_text(SCALE)
    return folder


def environment(**given: str) -> dict[str, str]:
    """As it is, without what keeps Python from looking into the current folder."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONSAFEPATH", "PYTHONPATH")}
    return {**kept, **given}


def ran(marks: pathlib.Path) -> set[str]:
    """The hostile modules that have run."""
    return {path.name for path in marks.iterdir()}


def test_no_process_of_the_library_runs_a_file_of_the_current_folder(
    hostile: pathlib.Path, marks: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Not even if it ignores the environment: Python would import from there before a child's first line."""
    script = tmp_path / "run.py"
    script.write_text(
        textwrap.dedent("""
            from optctx.compiling import FreshProcess, Job

            with open("module.ll") as file, FreshProcess() as fresh:
                assert fresh.compile(Job(file.read())).error is None
        """)
    )
    given = environment(PYTHONPATH=os.pathsep)
    assert output_of(sys.executable, "-E", script, cwd=hostile, env=given) == ""
    assert ran(marks) == set()
    # Python itself does for `-c`; on 3.13 and 3.14 before it imports `this`.
    subprocess.run([sys.executable, "-c", "import this"], cwd=hostile, env=environment())
    assert {"this", "linecache"} & ran(marks)


def test_what_the_parent_has_added_and_was_started_with_reaches_the_child(tmp_path: pathlib.Path) -> None:
    """A folder, an archive, and a folder of the current one, but not that itself; flags."""
    archive, (here, other) = tmp_path / "archive.zip", (tmp_path / "here", tmp_path / "other")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("packed.py", "")
    for folder in (other, here / "below"):
        folder.mkdir(parents=True)
        (folder / f"{folder.name}_own.py").touch()
    (here / "hostile.py").touch()
    script = f'''
import subprocess, sys
sys.path += {[str(archive), str(other), "below"]!r}
from optctx.children.python import python_command
code = """
import packed, other_own, below_own, importlib.util
print(sys.flags.no_user_site, sys.flags.utf8_mode, importlib.util.find_spec("hostile"))
"""
sys.exit(subprocess.run(python_command(code)).returncode)
'''
    command = [sys.executable, "-s", "-X", "utf8=1", "-c", script]
    assert output_of(*command, cwd=here, env=environment()) == "1 1 None\n"
