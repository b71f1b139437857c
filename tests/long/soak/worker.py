"""A process of a soak: threads that run random operations until it is time, or something is wrong."""

from __future__ import annotations

import argparse
import contextvars
import faulthandler
import gc
import os
import pickle
import random
import resource
import signal
import threading
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from optctx import attach
from optctx.compiling import initialise_targets
from tests.long.soak.actor import Actor, Shared, WrongError
from tests.long.soak.board import Board
from tests.long.soak.inputs import MODULES
from tests.long.soak.kinds import KINDS

__all__ = ["FINISHED", "main"]

FINISHED = 42  # exit status; LLVM itself may exit with 0


@dataclass
class Worker:
    """`until`: time.monotonic() at which threads stop."""

    shared: Shared
    board: Board
    kinds: list[str]
    until: float
    most: int  # operations of a thread
    wrong: Path  # what is wrong is appended here
    failed: bool = False

    def run(self, threads: int) -> bool:
        """The main thread is the first of the threads. Whether nothing was wrong."""
        others = [
            threading.Thread(target=contextvars.Context().run, args=(self._work, number))
            for number in range(1, threads)
        ]
        for each in others:
            each.start()
        self._work(0)
        for each in others:
            each.join()
        return not self.failed

    def _work(self, thread: int) -> None:
        weights = [KINDS[kind].weight for kind in self.kinds]
        number = compiled = 0
        while time.monotonic() < self.until and number < self.most and not self.failed:
            number += 1
            rng = random.Random(f"{self.shared.seed} {thread} {number}")  # each can be repeated by itself
            [kind] = rng.choices(self.kinds, weights)
            self.board.begin(thread, number, kind)
            actor = Actor(self.shared, rng, main=thread == 0)
            try:
                KINDS[kind].operation(actor)
            except BaseException as error:
                self._tell(thread, number, kind, error)
            compiled += actor.compiled
            self.board.end(thread, number, compiled)
            if rng.random() < 0.02:
                gc.collect(rng.randrange(3))

    def _tell(self, thread: int, number: int, kind: str, error: BaseException) -> None:
        self.failed = True
        words = str(error) if isinstance(error, WrongError) else "".join(traceback.format_exception(error))
        with self.wrong.open("a") as file:
            file.write(f"seed {self.shared.seed}, thread {thread}, operation {number}, {kind}: {words}\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.soak.worker")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--operations", type=int, required=True)
    parser.add_argument("--kinds", required=True)
    given = parser.parse_args()
    dump = (given.folder / "stacks").open("w")
    faulthandler.enable(dump)
    faulthandler.register(signal.SIGUSR1, dump)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore", DeprecationWarning)  # of fork with threads, which is the point
    os.chdir(given.folder)
    initialise_targets()
    attach()
    answers = pickle.loads((given.folder / "answers").read_bytes())
    shared = Shared(answers, given.seed)
    actor = Actor(shared, random.Random(0))
    for name in MODULES:  # with the memory that LLVM takes once
        actor.compare(name, by_optctx=True)
        actor.compare(name, by_optctx=False)
    board = Board(given.folder / "board", given.threads)
    until = time.monotonic() + given.seconds
    worker = Worker(shared, board, given.kinds.split(","), until, given.operations, given.folder / "wrong")
    return FINISHED if worker.run(given.threads) else 1


if __name__ == "__main__":
    raise SystemExit(main())
