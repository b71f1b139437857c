"""A process of a soak: threads that run random operations until it is time, or something is wrong."""

from __future__ import annotations

import contextvars
import faulthandler
import gc
import os
import random
import signal
import threading
import time
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from optctx import attach
from optctx.children.child import Channel
from tests.long.soak.actor import Actor, Shared, WrongError
from tests.long.soak.answers import Answers
from tests.long.soak.inputs import MODULES, by_llvmlite
from tests.long.soak.kinds import KINDS

__all__ = ["News", "Plan", "compile_on_threads", "keep", "work"]


class Plan(NamedTuple):
    """What a worker does: operations of these kinds, so many of each thread at most."""

    seed: int
    threads: int
    seconds: float
    operations: int
    kinds: tuple[str, ...]


class News(NamedTuple):
    """What a worker says: of its start, of an operation of a thread, what is wrong, and that all is well.

    `number`: of the operation, from 1; at the start the process. `compiled`: by the thread so far.
    """

    what: Literal["started", "begins", "ends", "wrong", "finished"]
    thread: int = 0
    number: int = 0
    words: str = ""
    compiled: int = 0


@dataclass
class Worker:
    """`until`: time.monotonic() at which threads stop."""

    shared: Shared
    channel: Channel
    plan: Plan
    until: float
    failed: bool = False
    saying: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> bool:
        """The main thread is the first of the threads. Whether nothing was wrong."""
        others = [
            threading.Thread(target=contextvars.Context().run, args=(self._work, number))
            for number in range(1, self.plan.threads)
        ]
        for each in others:
            each.start()
        self._work(0)
        for each in others:
            each.join()
        return not self.failed

    def _work(self, thread: int) -> None:
        kinds = self.plan.kinds
        weights = [KINDS[kind].weight for kind in kinds]
        number = compiled = 0
        while time.monotonic() < self.until and number < self.plan.operations and not self.failed:
            number += 1
            rng = random.Random(f"{self.shared.seed} {thread} {number}")  # each can be repeated by itself
            [kind] = rng.choices(kinds, weights)
            self._say(News("begins", thread, number, kind))
            actor = Actor(self.shared, rng, main=thread == 0)
            try:
                KINDS[kind].operation(actor)
            except BaseException as error:
                self.failed = True
                wrong = isinstance(error, WrongError)
                words = str(error) if wrong else "".join(traceback.format_exception(error))
                self._say(News("wrong", thread, number, words.encode(errors="backslashreplace").decode()))
            compiled += actor.compiled
            self._say(News("ends", thread, number, compiled=compiled))
            if rng.random() < 0.02:
                gc.collect(rng.randrange(3))

    def _say(self, news: News) -> None:
        with self.saying:
            self.channel.send(news)


def keep(answers: Answers) -> Answers:
    """Prepare a server of workers, which attach by themselves."""
    return answers


def work(answers: Answers, channel: Channel, plan: Plan) -> None:
    """Be a worker."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    warnings.simplefilter("ignore", DeprecationWarning)  # of fork with threads, which is the point
    attach()
    shared = Shared(answers, plan.seed)
    actor = Actor(shared, random.Random(0))
    for name in MODULES:  # with the memory that LLVM takes once
        actor.compare(name, by_optctx=True)
        actor.compare(name, by_optctx=False)
    channel.send(News("started", number=os.getpid()))
    if Worker(shared, channel, plan, time.monotonic() + plan.seconds).run():
        channel.send(News("finished"))


def compile_on_threads(_: None, channel: Channel, threads: int, seed: int) -> None:
    """Compile by llvmlite alone, where optctx never attaches. Tell the compilations so far when asked."""
    done = [0] * threads

    def compile_on(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        while True:
            by_llvmlite(rng.choice(sorted(MODULES)))
            if rng.random() < 0.05:
                gc.collect()
            done[number] += 1

    for number in range(threads):
        threading.Thread(target=compile_on, args=(number,), daemon=True).start()
    channel.send(News("started", number=os.getpid()))
    for _asked in channel.hear(int):
        channel.send(News("ends", compiled=sum(done)))
