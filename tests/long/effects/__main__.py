"""The command: python -m tests.long.effects."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import optctx
from optctx.compiling import FreshProcess
from tests.long.effects.attributes import answers, effects, settable
from tests.long.effects.cases import Case, candidates, case_of

_READERS = 6  # compilations that are tried with an option


def main(argv: Sequence[str] | None = None) -> int:
    """Every option that modules may set, as the attribute of one of two equal functions.

    Status 1 if an attribute is taken and does not do what the option of a process does.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.long.effects", description=main.__doc__)
    parser.add_argument("--jobs", type=int, metavar="N", help="compile only so many, drawn at random")
    parser.add_argument("--options", nargs="+", metavar="NAME", help="only these")
    given = parser.parse_args(argv)
    optctx.attach(attributes="error", trust=("tuning",))
    found = candidates()
    if given.jobs is not None:
        found = random.Random(0).sample(found, given.jobs)
    with FreshProcess(timeout=60) as fresh, ThreadPoolExecutor(2) as pool:
        cases = [case for case in pool.map(lambda job: case_of(job, fresh), found) if case is not None]
        print(f"{len(cases)} compilations", flush=True)
        return int(of_attributes(cases, given.options or settable(), fresh) > 0)


def of_attributes(cases: Sequence[Case], names: Sequence[str], fresh: FreshProcess) -> int:
    """How many attributes do not act, although no error says so.

    An option that acts elsewhere may be silent where passes over the module alone read it: they have the
    options of the module (docs/guide/binding.md).
    """
    counts: Counter[str] = Counter()
    wrong = 0
    for found in effects(cases, names, fresh, _READERS):
        told = answers(found)
        right = {"acts", "refused", *(("silent",) if "acts" in told else ())}
        for effect, answer in zip(found, told, strict=True):
            wrong += answer not in right
            if answer not in ("acts", "refused"):
                print(f"{answer}: {effect.argument} in {' '.join(effect.case.kind)}", flush=True)
        kinds = {answer if answer in right else "wrong" for answer in told} - {"silent"}
        counts["wrong" if len(kinds) > 1 else kinds.pop() if kinds else "no effect seen"] += 1
        counts["read"] += 1
    counts["not read"] = len(names) - counts["read"]
    print(f"{len(names)} options:", ", ".join(f"{counts[how]} {how}" for how in sorted(counts)))
    print(f"{wrong} attributes that are taken and do something else")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
