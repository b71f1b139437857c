"""A process that runs programs, under the engine that OPTCTX_ENGINE names: python -m tests.promises.server"""

from __future__ import annotations

import os
import pickle
import sys

from optctx import attach, info
from optctx.compiling import initialise_targets
from tests.promises.answers import Answers
from tests.promises.running import verdict


def main() -> None:
    """Takes answers from standard input, and then each (program, turns, threads), until that ends."""
    with os.fdopen(os.dup(1), "wb") as answers_to:
        os.dup2(2, 1)
        answers = Answers(**pickle.load(sys.stdin.buffer))
        initialise_targets()
        attach()
        pickle.dump(info()["engine"], answers_to)
        answers_to.flush()
        while True:
            try:
                program, turns, threads = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(verdict(program, turns, threads, answers), answers_to)
            answers_to.flush()


if __name__ == "__main__":
    main()
