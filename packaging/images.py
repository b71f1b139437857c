"""Try optctx beside every llvmlite that it takes, and on other LLVMs; print the matrix of design/facts.md.

`make images` builds one wheel. For each release it makes an environment with that wheel, the llvmlite and the
Numba that needs it. There it runs the tests that state no figures of one release, and a sample of LLVM's own
tests (`python -m evidence.conformance`), each job judged against a fresh process of the same library. The
same sample is judged, in this environment, on each libLLVM that is installed or that `--llvm` names. The exit
status is 1 if anything differs or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optctx import libllvm

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / "build" / "images"
NUMBAS = {  # release of llvmlite -> the Numba that needs it
    "0.45.1": "0.62",
    "0.46.0": "0.63",
    "0.47.0": "0.65",
    "0.48.0": "0.66",
    "0.49.0": "0.67",
    "0.50.0": "0.68",
}
TOOLS = ["pytest>=8", "pytest-xdist>=3.6", "pytest-random-order>=1.2", "hypothesis>=6.100"]
TESTS = [
    str(next((ROOT / "tests").rglob(f"test_{name}.py")).relative_to(ROOT))
    for name in (
        *("at_once", "binding", "binding_lljit", "containment", "fresh", "function_attributes"),
        *("links", "scopes", "trust", "numba_options"),
    )
]
_COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped)")


@dataclass(frozen=True)
class Row:
    """What was found beside one llvmlite, or on one library."""

    llvm: str
    numba: str
    info: dict[str, Any]
    totals: dict[str, int]
    tests: dict[str, int] | None

    def cells(self) -> list[str]:
        image = self.info["images"][0]
        judged, refused = self.totals.get("judged", 0), self.totals.get("refused", 0)
        wrong = self.totals.get("differing", 0) + self.totals.get("crashed", 0)
        return [
            self.llvm,
            self.numba,
            image["registry"]["layout"],
            f"{image['registry']['names']:,}",
            str(image["scopes"]["process"]),
            f"{judged:,}",
            str(wrong),
            f"{100 * refused / max(judged, 1):.1f} %",
            *self._tests(),
        ]

    def _tests(self) -> list[str]:
        if self.tests is None:
            return ["", "0"]
        return [
            f"{self.tests.get('passed', 0):,}",
            str(self.tests.get("failed", 0) + self.tests.get("error", 0)),
        ]

    @property
    def green(self) -> bool:
        *_, judged, wrong, _, passed, failed = self.cells()
        return (wrong, failed) == ("0", "0") and "0" not in (judged, passed)


HEAD = [
    *("llvmlite, or library", "Numba", "registry", "option names", "refused"),
    *("jobs", "differing", "refused jobs", "tests", "failed"),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("releases", nargs="*", help="of llvmlite; all, unless --llvm names a library")
    parser.add_argument("--llvm", action="append", help="a libLLVM (those that are installed)")
    parser.add_argument("--limit", type=int, default=1000, help="jobs of LLVM's tests for each")
    parser.add_argument("--seed", type=int, default=7, help="of their choice")
    options = parser.parse_args()
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
        # The conformance can audit, with what only the laboratory needs.
        subprocess.run([*pip, "--config-settings=cmake.define.OPTCTX_LAB=ON", str(ROOT)], check=True)
        [wheel] = Path(folder).glob("*.whl")
        tree = without_package(Path(folder) / "tree")
        for release in options.releases or ([] if options.llvm else NUMBAS):
            python = environment(release, wheel)
            found = judged(python, release, options, [], tree)
            llvm, numba = release.rpartition(".")[0], NUMBAS[release]
            rows.append(Row(llvm, numba, *found, run_tests(python, release, tree)))
            print(*table(rows), sep="\n", flush=True)
    for library in options.llvm or [each.path for each in libllvm.installed() if not each.problem]:
        given = ["--llvm", library]
        found = judged(sys.executable, Path(library).name, options, given, ROOT)
        rows.append(Row(library, "", *found, None))
        print(*table(rows), sep="\n", flush=True)
    return int(not all(row.green for row in rows))


def table(rows: list[Row]) -> list[str]:
    """The matrix in Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def without_package(tree: Path) -> Path:
    """Copy the tests and the judge to where they import the wheel's package, and not that of this folder."""
    for name in ("tests", "evidence", "examples"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def judged(
    python: str, name: str, options: argparse.Namespace, given: list[str], tree: Path
) -> tuple[dict[str, Any], dict[str, int]]:
    """What `optctx info` and the judge say of a library. `given`: what names it; nothing for llvmlite's.
    `tree`: where the judge is.
    """
    said = subprocess.run(
        [python, "-m", "optctx", "info", "--format=json", *given],
        cwd=ENVIRONMENTS,
        stdout=subprocess.PIPE,
    )
    report = ENVIRONMENTS / f"{name}.json"
    report.unlink(missing_ok=True)
    judge = [python, "-m", "evidence.conformance", "--limit", str(options.limit), "--seed", str(options.seed)]
    paths = {**os.environ, "PYTHONPATH": str(tree)}  # of the judge's processes, too
    subprocess.run([*judge, *given, "--json", str(report)], cwd=tree, env=paths)
    totals = json.loads(report.read_text())["totals"] if report.exists() else {}
    return json.loads(said.stdout), totals


def run_tests(python: str, release: str, tree: Path) -> dict[str, int]:
    """How many passed, failed, and so on."""
    command = [python, "-m", "pytest", "-q", "-n", "auto", *TESTS]
    if not newest(release):
        command += ["-m", "not llvm22"]
    tested = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, text=True)
    lines = tested.stdout.splitlines()
    if tested.returncode:
        print(f"Tests beside llvmlite {release}:", *lines, sep="\n", flush=True)
    return {what: int(number) for number, what in _COUNTS.findall(" ".join(lines[-1:]))}


def newest(release: str) -> bool:
    """Whether its LLVM is that of the newest release."""
    return release in ("0.48.0", "0.49.0", "0.50.0")


def environment(release: str, wheel: Path) -> str:
    """The interpreter of a virtual environment with that llvmlite, its Numba and the wheel."""
    folder = ENVIRONMENTS / release
    python = str(folder / "bin" / "python")
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    numba = f"numba=={NUMBAS[release]}.*"
    subprocess.run([*install, f"llvmlite=={release}", numba, *TOOLS, str(wheel)], check=True)
    subprocess.run([*install, "--force-reinstall", "--no-deps", str(wheel)], check=True)
    return python


if __name__ == "__main__":
    sys.exit(main())
