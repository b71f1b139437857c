"""LLVM's own regression tests with the patched opt, and with Debian's to compare with."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from evidence.shell import StepError, run

from .setup import Setup

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


def run_lit(setup: Setup, opt: Path, folders: Sequence[str]) -> str:
    """Runs the folders of llvm/test twice; how many fail. Raises StepError if lit does, or a test newly."""
    tests = setup.source / "llvm" / "test"
    places = [tests / folder for folder in folders]
    missing = [str(place) for place in places if not place.is_dir()]
    if missing:
        raise StepError(f"no such folder of tests: {', '.join(missing)}")
    stock = _lit(setup, "stock", setup.tool("opt"), places)
    patched = _lit(setup, "patched", opt, places)
    bad = {name for name, code in stock.items() if code == "FAIL"}
    worse = {name for name, code in patched.items() if code == "FAIL"}
    count = sum(code in ("PASS", "FAIL", "XFAIL") for code in patched.values())
    if not count:
        raise StepError("lit ran no test")
    found = f"{count} tests: {len(bad)} fail with Debian's opt, {len(worse)} with the patched one"
    if worse - bad:
        raise StepError(f"{found}; only with the patched one: {', '.join(sorted(worse - bad))}")
    return found


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
    run([sys.executable, lit, "-q", "--ignore-fail", "-o", out, *inside])
    return {test["name"]: test["code"] for test in json.loads(out.read_text())["tests"]}
