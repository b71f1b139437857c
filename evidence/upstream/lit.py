"""LLVM's own regression tests with the patched opt, and with Debian's to compare with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .setup import Setup
from .shell import UpstreamError

# A suite of one format: tests whose RUN lines need no other program than these and opt.
_CONFIG = """\
import lit.formats
config.name = "opt"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".ll"]
config.excludes = ["Inputs"]
config.test_source_root = {root!r}
config.test_exec_root = {out!r}
config.targets = frozenset(["X86"])
config.targets_to_build = "X86"
config.available_features.add("x86-registered-target")
config.available_features.add("default_triple")
config.environment["PATH"] = {path!r}
config.substitutions.append(("%shlibext", ".so"))
"""


@dataclass(frozen=True)
class LitOutcome:
    """Tests of the folders that were run."""

    run: int
    failed_stock: int
    failed_patched: int
    only_patched: tuple[str, ...]

    def __str__(self) -> str:
        only = f"; only with the patched one: {', '.join(self.only_patched)}" if self.only_patched else ""
        return (
            f"{self.run} tests: {self.failed_stock} fail with Debian's opt, {self.failed_patched} with the "
            f"patched one{only}"
        )


def run_lit(setup: Setup, opt: Path, folders: Sequence[str]) -> LitOutcome:
    """Runs the folders of llvm/test twice. Raises UpstreamError if lit itself fails or a test fails newly."""
    tests = setup.source / "llvm" / "test"
    places = [tests / folder for folder in folders]
    missing = [str(place) for place in places if not place.is_dir()]
    if missing:
        raise UpstreamError(f"no such folder of tests: {', '.join(missing)}")
    stock = _lit(setup, "stock", setup.tool("opt"), places)
    patched = _lit(setup, "patched", opt, places)
    bad = {name for name, code in stock.items() if code == "FAIL"}
    worse = {name for name, code in patched.items() if code == "FAIL"}
    outcome = LitOutcome(
        sum(code in ("PASS", "FAIL", "XFAIL") for code in patched.values()),
        len(bad),
        len(worse),
        tuple(sorted(worse - bad)),
    )
    if not outcome.run:
        raise UpstreamError("lit ran no test")
    if outcome.only_patched:
        raise UpstreamError(str(outcome))
    return outcome


def _lit(setup: Setup, name: str, opt: Path, places: Sequence[Path]) -> dict[str, str]:
    """The result of each test with this opt first on PATH."""
    folder = setup.build / f"lit-{name}"
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    link = programs / "opt"
    link.unlink(missing_ok=True)
    link.symlink_to(opt)
    # lit looks for its configuration in the folders above a test; the tests come as links.
    suite = folder / "suite"
    suite.mkdir(exist_ok=True)
    inside = []
    for place in places:
        below = suite / place.relative_to(setup.source / "llvm" / "test")
        below.parent.mkdir(parents=True, exist_ok=True)
        if not below.is_symlink():
            below.symlink_to(place)
        inside.append(below)
    path = f"{programs}:{setup.llvm / 'bin'}:/usr/bin:/bin"
    text = _CONFIG.format(root=str(suite), out=str(folder / "out"), path=path)
    (suite / "lit.cfg.py").write_text(text)
    out = folder / "results.json"
    out.unlink(missing_ok=True)
    lit = setup.source / "llvm" / "utils" / "lit" / "lit.py"
    words: list[str | Path] = [
        sys.executable,
        lit,
        "-q",
        f"-j{setup.jobs}",
        "--ignore-fail",
        "-o",
        out,
        *inside,
    ]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode or not out.exists():
        raise UpstreamError(f"lit ended with status {done.returncode}: {(done.stderr or done.stdout)[-400:]}")
    return {test["name"]: test["code"] for test in json.loads(out.read_text())["tests"]}
