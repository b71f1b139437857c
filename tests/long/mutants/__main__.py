"""The command line: builds mutations, runs tests on each, and prints a table."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import shutil
import sys
from collections.abc import Sequence
from functools import partial

from tests.long.mutants.mutation import CORE, MUTATIONS, CannotMutateError, Mutation
from tests.long.mutants.replica import CannotBuildError, Replica
from tests.long.mutants.trial import Outcome, run_tests

ROOT = pathlib.Path(__file__).parents[3]
_NONE = "none"  # the name of the run without a mutation
_JOBS = os.cpu_count() or 1  # processes that build and test

_HEAD = """\
| mutation | caught by | s of the test | s of the run | failed | s of the build |
| --- | --- | --- | --- | --- | --- |"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1: a mutation was not caught, or caught by a hang only, or could not be tried."""
    given = _parser().parse_args(arguments)
    if given.list:
        for each in MUTATIONS.values():
            print(f"{each.name}: {each.breaks}")
        return 0
    if unknown := set(given.names) - {_NONE, *MUTATIONS}:
        print(f"no mutation is called {', '.join(sorted(unknown))}; --list shows all")
        return 2
    replica = Replica(ROOT, ROOT / "build" / "mutants", _JOBS)
    try:
        print(f"built without a mutation in {replica.make():.0f} s\n{_HEAD}", flush=True)
        wrong = [name for name in given.names or [_NONE, *MUTATIONS] if not _try(name, replica, given)]
    finally:
        if not given.keep:
            shutil.rmtree(replica.tree.parent, ignore_errors=True)
    if wrong:
        print(f"\nnot as it should be: {', '.join(wrong)}")
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.long.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"the mutations to try, or {_NONE}: by default all")
    parser.add_argument("--list", action="store_true", help="print what each mutation breaks")
    parser.add_argument("--keep", action="store_true", help="leave the copy for the next call to build on")
    parser.add_argument("--tests", nargs="+", default=CORE, help="as for pytest; by default the core part")
    parser.add_argument("--failures", type=int, default=1, help="how many failures end a run, 0 for none")
    return parser


def _try(name: str, replica: Replica, given: argparse.Namespace) -> bool:
    """Print the row of a mutation. Returns whether a test caught it; without a mutation, whether all pass."""
    mutation = MUTATIONS.get(name)
    try:
        built = replica.build() if mutation is None else replica.put_in(mutation)
        outcome = _outcome(replica, mutation, given)
    except (CannotBuildError, CannotMutateError) as error:
        print(f"| `{name}` | **cannot be tried** | | | | |\n\n{error}\n\n{_HEAD}", flush=True)
        return False
    finally:
        if mutation is not None:
            with contextlib.suppress(CannotMutateError):  # then it was not put in either
                replica.take_out(mutation)
    print(_row(name, mutation, built, outcome), flush=True)
    return outcome.verdict == ("missed" if mutation is None else "caught")


def _outcome(replica: Replica, mutation: Mutation | None, given: argparse.Namespace) -> Outcome:
    """Run the tests of the mutation's subject, and if they pass all those that were asked for."""
    run = partial(run_tests, replica, failures=given.failures, jobs=_JOBS)
    if mutation is not None and given.tests is CORE:
        nearest = run([mutation.near])
        if nearest.verdict != "missed":
            return nearest
    return run(given.tests)


def _row(name: str, mutation: Mutation | None, built: float, outcome: Outcome) -> str:
    words = {
        "caught": f"`{outcome.test}`",
        "hang": "**a hang only**",
        "missed": "nothing fails" if mutation is None else "**nothing**",
        "no run": "**no test has run**",
    }[outcome.verdict]
    own = f"{outcome.own_seconds:.1f}" if outcome.verdict == "caught" else ""
    of = f"{outcome.failed} of {outcome.failed + outcome.passed}"
    row = f"| `{name}` | {words} | {own} | {outcome.seconds:.1f} | {of} | {built:.0f} |"
    return f"{row}\n\n{outcome.output}\n\n{_HEAD}" if outcome.output else row


if __name__ == "__main__":
    sys.exit(main())
