"""Run Numba's own tests in three ways, and print what differs.

Stock: without optctx. Attached: after `optctx.attach()`. Scope: all inside `with OptionContext():`. Each
module of tests runs in a process of its own, by pytest, first inside a scope; the other two ways run only
what does not pass there, test by test. What ends differently counts. The exit status is 1 if any does.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import numba.tests

ROOT: Final = Path(__file__).parents[3]
PACKAGES: Final = Path(numba.__file__).parents[1]
WAYS: Final = ("scope", "stock", "attached")
# Of every part of Numba that compiles; some minutes.
SOME = (
    *("array_exprs", "array_iterators", "casting", "closure", "comprehension", "dicts", "dispatcher"),
    *("errorhandling", "exceptions", "extending", "fastmath", "flow_control", "func_lifetime", "generators"),
    *("inlining", "jitclasses", "looplifting", "nested_calls", "nrt", "object_mode", "optional"),
    *("recursion", "svml", "target_overloadselector", "tuples", "typedlist", "withlifting"),
)
PLACES_ITS_CACHE = ("numba.tests.test_caching", "numba.tests.test_parfors_caching")
# Inside a scope, where Numba's cache is not used, these may end differently: docs/guide/numba.md says so.
OF_ITS_CACHE = (*PLACES_ITS_CACHE, "numba.tests.test_extending.TestOverloadMethodCaching")
SECONDS = 1800.0  # that a process may take

Outcomes = dict[str, tuple[str, str]]  # test -> outcome and why


def main() -> int:
    parser = argparse.ArgumentParser(prog="make numba", description=__doc__)
    parser.add_argument("modules", nargs="*", help="of numba.tests, such as dispatcher; a selection")
    parser.add_argument("--all", action="store_true", help="every module (hours)")
    options = parser.parse_args()
    there = [info.name.removeprefix("test_") for info in pkgutil.iter_modules(numba.tests.__path__)]
    chosen = sorted(there) if options.all else options.modules or SOME
    if missing := set(chosen) - {*there}:
        parser.error(f"this Numba has no {', '.join(sorted(missing))}")
    began = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        each = pool.map(partial(run, way="scope"), [f"numba.tests.test_{name}" for name in chosen])
        inside = {test: end for found in each for test, end in found.items()}
        left = [test for test, (how, _) in sorted(inside.items()) if how not in ("passed", "skipped")]
        ends = dict(zip(left, pool.map(ends_of, left), strict=True))
    print(f"{len(inside)} tests inside a scope, {counted(inside)}; {time.monotonic() - began:.0f} s")
    differing = {test: found for test, found in ends.items() if len({how for how, _ in found}) > 1}
    for test, found in list(differing.items()):
        told = [how for how, _ in found]
        if test.startswith(OF_ITS_CACHE) and told == ["failed", "passed", "passed"]:
            print(f"\n{test}: as meant: Numba's cache is not used inside scopes")
            del differing[test]
            continue
        for way, (how, why) in zip(WAYS, found, strict=True):
            print(f"\n{test}, {way}: {how}\n  " + "\n  ".join(why.splitlines()[-4:]))
    print(f"\n{len(differing)} tests end differently")
    return int(bool(differing))


def ends_of(test: str) -> list[tuple[str, str]]:
    """What comes of a test by itself, in each of WAYS."""
    return [run(test, way).get(test, ("not run", "")) for way in WAYS]


def run(name: str, way: str) -> Outcomes:
    """What comes of a module of tests or of one test. One that ends its process has failed."""
    module, *inner = name.split(".", 3)[2:]
    path = PACKAGES / "numba" / "tests" / f"{module}.py"
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        # On a process of xdist's, so one that dies is a test that fails, and the others go on.
        words = ["-q", "-n1", "-c", os.devnull, f"--rootdir={PACKAGES}", f"--junitxml={results}"]
        words += ["-p", "no:cacheprovider", "-p", "no:optctx", "-p", "tests.long.numba_suite.way"]
        words.append("::".join([str(path), *(inner[0].split(".") if inner else ())]))
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *words],
                cwd=folder,
                env={**environment(name, folder), "PYTHONPATH": str(ROOT), "WAY": way},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return {name: ("timed out", "")}
        if not results.exists():
            return {name: ("failed", done.stdout + done.stderr)}
        found: Outcomes = {}
        for case in ElementTree.parse(results).iter("testcase"):
            test = f"{case.get('classname')}.{case.get('name')}"
            bad = next((each for each in case if each.tag in ("failure", "error", "skipped")), None)
            outcome = "passed" if bad is None else "skipped" if bad.tag == "skipped" else "failed"
            if found.get(test, ("",))[0] != "failed":  # by a subtest
                found[test] = (outcome, "" if bad is None else f"{bad.get('message')}\n{bad.text or ''}")
    print(f"{name} {way}: {counted(found)}", file=sys.stderr, flush=True)
    return found


def counted(found: Outcomes) -> str:
    counts = Counter(outcome for outcome, _ in found.values())
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in sorted(counts))


def environment(name: str, folder: str) -> dict[str, str]:
    """With a cache of Numba's that no other process has; but not for tests of where the cache is."""
    found = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    return found if name.startswith(PLACES_ITS_CACHE) else {**found, "NUMBA_CACHE_DIR": f"{folder}/cache"}


if __name__ == "__main__":
    sys.exit(main())
