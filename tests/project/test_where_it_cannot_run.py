"""Where optctx cannot run, building it and the first import of a name say so in one sentence."""

from __future__ import annotations

import importlib.machinery
import os
import pathlib
import shutil
import subprocess
import sys

import cmake

from tests.support.processes import run_python

NEEDED = "optctx needs CPython 3.11 or later on 64-bit Linux on x86-64 (AMD64)"
PROJECT = pathlib.Path(__file__).parents[2]


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


FAKE_PYTHON = f"""#!{sys.executable}
import platform, struct, sys
sys.version_info = (3, 10, 18, "final", 0); platform.python_version = lambda: "3.10.18"
exec(sys.argv[sys.argv.index("-c") + 1])
"""


def test_building_elsewhere_is_refused_before_a_compiler_is_looked_for(tmp_path: pathlib.Path) -> None:
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON)
    python.chmod(0o755)
    for name, arguments in {
        "Linux on aarch64": ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"],
        "64-bit CPython 3.10.18": [f"-DPython_EXECUTABLE={python}"],
    }.items():
        command = [f"{cmake.CMAKE_BIN_DIR}/cmake", "-S", str(PROJECT), "-B", str(tmp_path / name), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 1, done
        assert "compiler" not in done.stdout + done.stderr
        assert f"{NEEDED}; this is {name}." in " ".join(done.stderr.split())


def import_in(folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """What Python says, started in the folder without editable installs."""
    return subprocess.run(
        [sys.executable, "-S", "-c", "import optctx, optctx._native; print(optctx.__file__)"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done
    return done.stderr.splitlines()[-1]


def test_a_copy_without_its_native_module_says_what_to_do(tmp_path: pathlib.Path) -> None:
    source, site = tmp_path / "clone", tmp_path / "site"
    for folder in (source, site):
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(PROJECT / "optctx", folder / "optctx", ignore=ignored)
    (source / "native").mkdir()
    for name in ("pyproject.toml", "CMakeLists.txt"):
        shutil.copy(PROJECT / name, source)
    assert last_line(import_in(source)) == (
        f"ImportError: optctx is imported from its source folder {source}, where its native module is not "
        "built; run `pip install -e .` there, or start Python in another folder or with `python -P`"
    )
    for name, says in {
        "none": "has no native module; install optctx again",
        "_native.cpython-36m-x86_64-linux-gnu.so": "is built for another Python (_native.cpython-36m",
        f"_native{importlib.machinery.EXTENSION_SUFFIXES[0]}": "native module cannot be loaded: ",
    }.items():
        file = site / "optctx" / "lib" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"no library")
        said = last_line(import_in(site))
        assert says in said
        assert said.endswith("install optctx again, with this Python")
        file.unlink()
