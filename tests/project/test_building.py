"""What `make` installs and asks of the build, and which systems the built module can be loaded on."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from optctx import _native

PROJECT = Path(__file__).parents[2]
# Of manylinux_2_28. auditwheel has the same table.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
VERSION = re.compile(r"\((?P<family>[A-Z]+)_(?P<number>[0-9.]+)\)\s+(?P<symbol>\S+)")
SHIM = "_ZNSt15__exception_ptr13exception_ptrC1EPv"  # native/os/older_system.cpp alone calls it


def pip_commands(target: str, venv: Path) -> list[list[str]]:
    """What `make` would have pip install for a target in a new environment, without the flags."""
    command = ["make", "--no-print-directory", "-n", target, f"VENV={venv}"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    printed = subprocess.run(
        command, cwd=PROJECT, env=clean, capture_output=True, text=True, check=True
    ).stdout.replace("\\\n", " ")
    return [
        line.split(" install ", 1)[1].split() for line in printed.splitlines() if "/bin/pip install " in line
    ]


def test_a_demo_installs_what_it_needs_and_a_test_builds_nothing_again(tmp_path: Path) -> None:
    demo, test = (pip_commands(target, tmp_path / "venv") for target in ("demo", "test"))
    wanted = [[word.strip("\"'") for word in words if not word.startswith("-")] for words in test]
    project = (PROJECT / "pyproject.toml").read_text()
    [requires] = re.findall(r"^requires = \[(.*)\]$", project, re.MULTILINE)
    tools = ["cmake", "ninja", *re.findall(r'"(.*?)"', requires)]
    assert wanted == [tools, [".[demo]"], ["optctx[test]"]]
    assert demo == test[:2]
    # Nothing in the build has another path the next time.
    assert {"--no-build-isolation", "--config-settings=cmake.define.OPTCTX_PORTABLE=ON"} <= {*demo[1]}
    assert "-e" not in test[2], "what is installed is not built again"
    assert re.search(r'^demo = \["llvmlite[^"]*"\]$', project, re.MULTILINE)


@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump (binutils)")
def test_the_module_is_loaded_by_systems_of_manylinux_2_28() -> None:
    glibc = tuple(map(int, platform.libc_ver()[1].split(".")))
    if glibc > (2, 36):
        pytest.skip("wheels are built beside glibc 2.36 or in manylinux_2_28, and this glibc is newer")
    command = ["objdump", "--dynamic-syms", _native.__file__]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if SHIM not in printed:
        pytest.skip("built without OPTCTX_PORTABLE, which `make` and `make wheels` set")
    needed = [each for line in printed.splitlines() if "*UND*" in line for each in VERSION.finditer(line)]
    assert {each["family"] for each in needed} == {*NEWEST}
    too_new = [
        each[0] for each in needed if tuple(map(int, each["number"].split("."))) > NEWEST[each["family"]]
    ]
    assert not too_new, f"no system of manylinux_2_28 has {too_new}: see native/os/older_system.cpp"
