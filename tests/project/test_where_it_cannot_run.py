"""Where optctx cannot run, building it and the first import of a name say so in one sentence."""

from __future__ import annotations

import importlib.machinery
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import textwrap

import cmake
import pytest

from optctx import _native
from tests.support.processes import run_python

NEEDED = "optctx needs CPython 3.11 or later on 64-bit Linux on x86-64 (AMD64)"
PROJECT = pathlib.Path(__file__).parents[2]
NATIVE = pathlib.Path(_native.__file__ or "")


# What is changed before optctx is imported, and what that says.
ELSEWHERE = {
    'platform.machine = lambda: "aarch64"': "this is Linux on aarch64, with a 64-bit CPython",
    "sys.maxsize = 2**31 - 1": "on x86_64, with a 32-bit CPython",
    'sys.platform = "darwin"; platform.system = lambda: "Darwin"': "this is Darwin on x86_64",
    "sys.version_info = (3, 10, 18, 'final', 0)": "; this is CPython 3.",
    'sys.implementation.name = "pypy"; platform.python_implementation = lambda: "PyPy"': "is PyPy 3.",
}


def test_importing_says_what_is_needed_and_what_there_is() -> None:
    said = run_python(f"""
        import os, platform, sys
        for change in {[*ELSEWHERE]!r}:
            if not os.fork():
                exec(change)
                try:
                    from optctx import OptionContext
                except ImportError as error:
                    os.write(1, f"{{error}}\\n".encode())
                assert "optctx._native" not in sys.modules
                os._exit(0)
            assert os.wait()[1] == 0
    """).splitlines()
    for words, line in zip(ELSEWHERE.values(), said, strict=True):
        assert line.startswith(f"{NEEDED}; this is ")
        assert words in line


FAKE_PYTHON = """
    import platform, struct, sys
    {change}
    exec(sys.argv[sys.argv.index("-c") + 1])
"""


def configured(folder: pathlib.Path, *arguments: str) -> str:
    """What CMake says, in one line, when it refuses to go on."""
    command = [os.path.join(cmake.CMAKE_BIN_DIR, "cmake"), "-S", str(PROJECT), "-B", str(folder / "build")]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done
    assert "compiler" not in done.stdout + done.stderr  # it was not looked for
    return " ".join(done.stderr.split())


OTHER_PYTHONS = {
    'sys.version_info = (3, 10, 18, "final", 0); platform.python_version = lambda: "3.10.18"': (
        "64-bit CPython 3.10.18"
    ),
    'platform.python_implementation = lambda: "PyPy"': f"64-bit PyPy {platform.python_version()}",
}


def test_building_elsewhere_is_refused_before_a_compiler_is_looked_for(tmp_path: pathlib.Path) -> None:
    elsewhere: dict[str, list[str]] = {}
    elsewhere["Linux on aarch64"] = ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"]
    for change, name in OTHER_PYTHONS.items():
        python = tmp_path / f"python {len(elsewhere)}"
        python.write_text(f"#!{sys.executable}\n" + textwrap.dedent(FAKE_PYTHON.format(change=change)))
        python.chmod(0o755)
        elsewhere[name] = [f"-DPython_EXECUTABLE={python}"]
    said = {name: configured(tmp_path / name, *given) for name, given in elsewhere.items()}
    assert [name for name in said if f"{NEEDED}; this is {name}." not in said[name]] == []


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    """The source folder without what is built."""
    folder = tmp_path / "clone"
    for name in ("optctx", "native"):
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("pyproject.toml", "CMakeLists.txt"):
        shutil.copy(PROJECT / name, folder)
    return folder


def import_in(folder: pathlib.Path, *path: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """What Python says, started in the folder with these on its path and without editable installs."""
    return subprocess.run(
        [sys.executable, "-S", "-c", "import optctx, optctx._native; print(optctx.__file__)"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
        timeout=120,
    )


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done
    return done.stderr.splitlines()[-1]


def test_a_source_folder_says_what_to_do(source: pathlib.Path) -> None:
    assert last_line(import_in(source)) == (
        f"ImportError: optctx is imported from its source folder {source}, where its native module is not "
        "built; run `pip install -e .` there, or start Python in another folder or with `python -P`"
    )


def test_an_installed_copy_without_its_native_module_says_so(
    source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    shutil.copytree(source / "optctx", tmp_path / "site" / "optctx")
    for name, says in {
        "": "has no native module; install optctx again",
        "_native.cpython-36m-x86_64-linux-gnu.so": "is built for another Python (_native.cpython-36m",
        f"_native{importlib.machinery.EXTENSION_SUFFIXES[0]}": "native module cannot be loaded: ",
    }.items():
        file = tmp_path / "site" / "optctx" / "lib" / (name or "none")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"no library")
        said = last_line(import_in(tmp_path / "site"))
        assert says in said
        assert said.endswith("install optctx again, with this Python")
        file.unlink()
