"""Run Numba's own tests in three ways, and print what differs.

Stock: without optctx. Attached: after `optctx.attach()`. Scope: all inside `with OptionContext():`. Each
module of tests runs in a process of its own for each. A test that ends differently is run again by itself,
and counts only if it differs again. The exit status is 1 if any does.

The whole suite takes hours: --scope-first runs the other two ways only for what does not pass inside a scope.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.long.numba_suite.child import MODES

CHILD = Path(__file__).parent / "child.py"
# Of every part of Numba that compiles; some minutes for each way.
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
MOST_NAMED = 20  # on a line of what is done

Outcomes = dict[str, tuple[str, str]]  # test -> outcome and why


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make numba", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("modules", nargs="*", help="of numba.tests, such as dispatcher; a selection")
    parser.add_argument("--all", action="store_true", help="every module (hours)")
    parser.add_argument(
        "--scope-first",
        action="store_true",
        help="what passes inside a scope is not run in the other ways (a third of the time)",
    )
    options = parser.parse_args()
    chosen = options.modules or SOME
    modules = every_module() if options.all else [f"numba.tests.test_{each}" for each in chosen]
    missing = [each for each in modules if importlib.util.find_spec(each) is None]
    if missing:
        parser.error(f"this Numba has no {', '.join(missing)}")
    groups = [[each] for each in modules]
    found, seconds = scope_first(groups) if options.scope_first else run_all(groups, MODES)
    passed = {test for test, end in found["scope"].items() if end[0] == "passed" and options.scope_first}
    differing = confirmed(found, passed)
    print("\n".join(table(found, seconds)))
    for test in list(differing):
        ends = [found[mode][test][0] for mode in MODES]
        if test.startswith(OF_ITS_CACHE) and ends == ["passed", "passed", "failed"]:
            print(f"\n{test}: as meant: Numba's cache is not used inside scopes")
            differing.remove(test)
    for test in differing:
        print(f"\n{test}: {', '.join(f'{mode} {found[mode].get(test, NOT_RUN)[0]}' for mode in MODES)}")
        for mode in MODES[1:]:
            for line in found[mode].get(test, NOT_RUN)[1].splitlines()[-4:]:
                print(f"  {mode}: {line}")
    print(f"\n{len(differing)} tests end differently")
    return int(bool(differing))


def every_module() -> list[str]:
    import numba.tests

    names = (info.name for info in pkgutil.iter_modules(numba.tests.__path__))
    return [f"numba.tests.{name}" for name in sorted(names) if name.startswith("test_")]


def run_all(
    groups: Sequence[Sequence[str]], modes: Sequence[str]
) -> tuple[dict[str, Outcomes], dict[str, float]]:
    """What came of every test, and the seconds that processes took, by mode."""
    found: dict[str, Outcomes] = {mode: {} for mode in modes}
    seconds = dict.fromkeys(modes, 0.0)

    def work(modules: Sequence[str], mode: str) -> None:
        outcomes, took = run(modules, mode)
        found[mode].update(outcomes)
        seconds[mode] += took
        counts = Counter(outcome for outcome, _ in outcomes.values())
        named = " ".join(modules) if len(modules) <= MOST_NAMED else f"{len(modules)} like {modules[0]}"
        print(f"{named} {mode}: {dict(counts)} in {took:.0f} s", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(work, modules, mode) for modules in groups for mode in modes]:
            done.result()
    return found, seconds


def scope_first(groups: Sequence[Sequence[str]]) -> tuple[dict[str, Outcomes], dict[str, float]]:
    """As `run_all`, but in the other ways only what does not pass inside a scope."""
    found, seconds = run_all(groups, ("scope",))
    left: dict[str, list[str]] = {}  # by module
    for test, (outcome, _) in sorted(found["scope"].items()):
        if outcome != "passed":
            left.setdefault(".".join(test.split(".")[:3]), []).append(test)
    others, more = run_all(list(left.values()), [mode for mode in MODES if mode != "scope"])
    return {**others, **found}, {**more, **seconds}


def run(names: Sequence[str], mode: str) -> tuple[Outcomes, float]:
    """What came of the tests of these names, and the seconds that it took."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "outcomes")
        file.touch()
        ended, status = "timed out", -1
        try:
            done = subprocess.run(
                [sys.executable, str(CHILD), mode, str(file), *names],
                cwd=folder,
                env=environment(names, folder),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                timeout=SECONDS,
            )
            status = done.returncode
            ended = f"the process ended with status {status}: {done.stderr[-2000:]}"
        except subprocess.TimeoutExpired:
            pass
        outcomes = read(file, ended)
    if status != 0 and not any(outcome == "crashed" for outcome, _ in outcomes.values()):
        outcomes.update(dict.fromkeys(names, ("crashed", ended)))  # before or after its tests
    return outcomes, time.monotonic() - began


def environment(names: Sequence[str], folder: str) -> dict[str, str]:
    """With a cache of Numba's that no other process has; but not for tests of where the cache is."""
    found = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    if not all(name.startswith(PLACES_ITS_CACHE) for name in names):
        found["NUMBA_CACHE_DIR"] = f"{folder}/cache"
    return found


def read(file: Path, ended: str) -> Outcomes:
    """The outcome of each test: its worst, and "crashed" if it has none."""
    found: Outcomes = {}
    for line in file.read_text().splitlines():
        test, outcome, why = json.loads(line)
        known = found.get(test, ("started", ""))
        if known[0] != "failed" and outcome != "started":
            found[test] = (outcome, why)
        else:
            found.setdefault(test, known)
    return {test: ("crashed", ended) if end[0] == "started" else end for test, end in found.items()}


NOT_RUN = ("not run", "")


def confirmed(found: dict[str, Outcomes], passed: set[str]) -> list[str]:
    """Tests that end differently, by themselves as well; what they end with then counts. Without some."""
    tests = sorted(set().union(*found.values()) - passed)
    suspects = [test for test in tests if len({found[mode].get(test, NOT_RUN)[0] for mode in found}) > 1]

    def again(test: str, mode: str) -> None:
        found[mode][test] = run([test], mode)[0].get(test, NOT_RUN)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(again, test, mode) for test in suspects for mode in found]:
            done.result()
    return [test for test in suspects if len({found[mode][test][0] for mode in found}) > 1]


def table(found: dict[str, Outcomes], seconds: dict[str, float]) -> list[str]:
    """In Markdown."""
    kinds = ("passed", "failed", "skipped", "crashed")
    lines = [f"| Numba's tests | tests | {' | '.join(kinds)} | seconds |", "| --- " * (len(kinds) + 3) + "|"]
    for mode in found:
        counts = Counter(outcome for outcome, _ in found[mode].values())
        cells = [str(len(found[mode])), *(str(counts[kind]) for kind in kinds), f"{seconds[mode]:.0f}"]
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
