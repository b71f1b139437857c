"""What `make` installs and asks of the build."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

PROJECT = Path(__file__).parents[2]


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
    assert wanted == [tools, [".[demo]"], [".[test]"]]
    assert demo == test[:2]
    # The same build, and nothing in it that has another path the next time.
    assert demo[1][:-1] == test[2][:-1]
    assert "--no-build-isolation" in demo[1]
    assert re.search(r'^demo = \["llvmlite[^"]*"\]$', project, re.MULTILINE)
