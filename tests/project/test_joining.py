"""What people need to install and to join: metadata, workflows and CONTRIBUTING.md name what there is."""

from __future__ import annotations

import pathlib
import re
import runpy
import tomllib
from importlib.util import find_spec
from typing import Any

import yaml

from tests.long.__main__ import stages

ROOT = pathlib.Path(__file__).parents[2]
FORGE = ROOT / ".github"
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def jobs(workflow: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(workflow.read_text())["jobs"]
    return found


def matrix(workflow: str, job: str) -> Any:
    return jobs(FORGE / "workflows" / workflow)[job]["strategy"]["matrix"]


def test_every_supported_python_is_classified_tested_and_on_the_pages() -> None:
    least, end = map(int, re.findall(r"3\.(\d+)", PROJECT["requires-python"]))  # such as ">=3.11,<3.16"
    versions = [f"3.{minor}" for minor in range(least, end)]
    prefix = "Programming Language :: Python :: 3."
    classified = [each.removeprefix(prefix) for each in PROJECT["classifiers"] if each.startswith(prefix)]
    assert [f"3.{minor}" for minor in classified] == versions
    free = [f"{version}t" for version in versions if int(version[2:]) >= 14]  # free-threaded ones
    assert sorted(matrix("tests.yml", "test")["python"]) == sorted(versions + free)
    for page in ("README.md", "docs/limits.md", "CHANGELOG.md"):
        assert f"CPython {versions[0]} to {versions[-1]}" in (ROOT / page).read_text(), page


def test_no_release_of_llvmlite_is_asked_for_and_none_of_numba() -> None:
    """pip installs what has bounds anew, or takes another release of what is there."""
    names = ("llvmlite", "numba")
    assert [each for each in PROJECT["dependencies"] if each.startswith(names)] == ["llvmlite"]
    extras = PROJECT["optional-dependencies"]
    assert not [each for name in ("tune", "testing") for each in extras[name] if each.startswith(names)]


def test_the_weekly_stages_are_those_of_make_test_long() -> None:
    pythons = {stage.name for stage in stages(1) if stage.name.startswith("python")}
    assert matrix("weekly.yml", "test-long")["stage"] == [
        stage.name for stage in stages(1) if stage.name not in pythons
    ]
    assert {name.removeprefix("python") for name in pythons} <= set(matrix("tests.yml", "test")["python"])


def test_workflows_run_what_there_is_and_pin_what_they_take() -> None:
    targets = set(re.findall(r"^([\w./$()-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets = {target.replace("$(VENV)", ".venv") for target in targets}
    for workflow in WORKFLOWS:
        steps = [step for job in jobs(workflow).values() for step in job["steps"]]
        text = "\n".join(step.get("run", "") for step in steps)
        assert set(re.findall(r"\bmake ([\w./-]+)", text)) <= targets, workflow
        assert all(find_spec(module) for module in re.findall(r"python -m ((?:tests|evidence)[\w.]*)", text))
        taken = re.findall(r"uses: (\S+)", workflow.read_text())
        assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in taken), workflow
        assert yaml.safe_load(workflow.read_text())["permissions"] == {"contents": "read"}
    assert len(WORKFLOWS) >= 2
    written = (ROOT / "CONTRIBUTING.md").read_text()
    assert set(re.findall(r"`make ([\w-]+)", written)) <= targets


def test_scripts_of_the_makefile_begin() -> None:
    scripts = re.findall(r"packaging/\w+\.py", (ROOT / "Makefile").read_text())
    assert len(scripts) >= 3
    for script in scripts:
        runpy.run_path(str(ROOT / script))


def test_contributing_names_files_that_there_are() -> None:
    written = (ROOT / "CONTRIBUTING.md").read_text()
    named = {
        path
        for path in re.findall(r"(?<![\w/.~])((?:\w+|\.github)/[\w./-]*\w)", written)
        if path.split("/")[0] in {each.name for each in ROOT.iterdir()}
    }
    assert len(named) > 30
    placeholders = {"optctx/lab/command/NAME_command.py"}
    assert sorted(path for path in named - placeholders if not (ROOT / path).exists()) == []
