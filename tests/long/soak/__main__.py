"""Random programs on threads for as long as one likes: more than those of `make test`, and with more in them.

The programs are those of tests/promises. A thread may do more in a scope of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial

from hypothesis import Phase

from tests.long.soak.inside import INSIDE
from tests.promises.answers import known_answers
from tests.promises.checking import agree_with_the_model
from tests.promises.running import More
from tests.support.processes import in_child

_MOST = 10  # findings before giving up


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if nothing was found, 1 if something was."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the first programs")
    parser.add_argument("--programs", type=int, default=20, help="of each seed")
    options = parser.parse_args(arguments)
    answers = known_answers()
    until = time.monotonic() + 60 * options.minutes
    number, found = options.seed, 0
    drawn = {"max_examples": options.programs, "phases": (Phase.generate, Phase.shrink)}
    while found < _MOST:
        try:
            in_child(partial(agree_with_the_model, answers, More(INSIDE), number, **drawn))  # prints it
        except AssertionError:
            print(f"FOUND seed {number}", flush=True)
            found += 1
        number += 1
        if time.monotonic() >= until:
            break
    print(f"{(number - options.seed) * options.programs} programs, {found} found")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
