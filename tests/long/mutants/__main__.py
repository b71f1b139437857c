"""The command line: builds mutations, runs tests on each, and prints a table."""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress

from tests.long.mutants.mutation import CORE, MUTATIONS, CannotMutateError, Mutation
from tests.long.mutants.replica import CannotBuildError, Outcome, Replica, run_tests

ROOT = pathlib.Path(__file__).parents[3]
_NONE = "none"  # the name of the run without a mutation
_JOBS = os.cpu_count() or 1  # processes that build and test

_HEAD = """\
| mutation | caught by | s |
| --- | --- | --- |"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1: a mutation was not caught, or caught by a hang only, or could not be tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"the mutations to try, or {_NONE}: by default all")
    parser.add_argument("--keep", action="store_true", help="leave the copy for the next call to build on")
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - {_NONE, *MUTATIONS}:
        parser.error(f"no mutation is called {', '.join(sorted(unknown))}; mutations.txt has all")
    replica = Replica(ROOT, ROOT / "build" / "mutants", _JOBS)
    try:
        print(f"built without a mutation in {replica.make():.0f} s\n{_HEAD}", flush=True)
        wrong = [name for name in given.names or [_NONE, *MUTATIONS] if not _try(name, replica)]
    finally:
        if not given.keep:
            shutil.rmtree(replica.tree.parent, ignore_errors=True)
    if wrong:
        print(f"\nnot as it should be: {', '.join(wrong)}")
    return int(bool(wrong))


def _try(name: str, replica: Replica) -> bool:
    """Print the row of a mutation. Returns whether a test caught it; without a mutation, whether all pass."""
    mutation = MUTATIONS.get(name)
    try:
        outcome = _outcome(replica, mutation)
    except (CannotBuildError, CannotMutateError) as error:
        outcome = Outcome("cannot be tried", 0, output=str(error))
    finally:
        if mutation is not None:
            with suppress(CannotMutateError):  # then it was not put in either
                replica.take_out(mutation)
    row = f"| `{name}` | {outcome.test or outcome.verdict} | {outcome.seconds:.1f} |"
    print(f"{row}\n\n{outcome.output}\n\n{_HEAD}" if outcome.output else row, flush=True)
    return outcome.verdict == ("missed" if mutation is None else "caught")


def _outcome(replica: Replica, mutation: Mutation | None) -> Outcome:
    """Run the tests of the mutation's subject, and if they pass the core part."""
    if mutation is None:
        replica.build()
    else:
        replica.put_in(mutation)
        nearest = run_tests(replica, [mutation.near], _JOBS)
        if nearest.verdict != "missed":
            return nearest
    return run_tests(replica, CORE, _JOBS)


if __name__ == "__main__":
    sys.exit(main())
