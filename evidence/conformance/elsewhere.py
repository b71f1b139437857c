"""Reference outcomes from a process that was started anew, so with another address layout.

As a program: reads pickled (jobs, timeout) from standard input and writes the pickled outcomes.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial

from evidence.conformance.forked import reference, run_forked
from evidence.conformance.job import Job, Outcome, compile_job, initialise
from optctx.children.python import python_command

_ALLOCATIONS = 1000


def elsewhere(jobs: Sequence[Job], timeout: float, *, on_thread: bool) -> list[Outcome]:
    """The jobs in fresh processes of a new parent; `on_thread`: in a second thread, whose heap is another."""
    done = subprocess.run(
        python_command("from evidence.conformance.elsewhere import main; main()"),
        input=pickle.dumps((list(jobs), timeout, on_thread)),
        stdout=subprocess.PIPE,
        check=True,
    )
    outcomes: list[Outcome] = pickle.loads(done.stdout)
    return outcomes


def main() -> None:
    """The program."""
    jobs, timeout, on_thread = pickle.load(sys.stdin.buffer)
    initialise()
    run = _on_thread if on_thread else reference
    tasks = [(index, partial(run, job)) for index, job in enumerate(jobs)]
    outcomes = dict(run_forked(tasks, timeout))
    sys.stdout.buffer.write(pickle.dumps([outcomes[index] for index in range(len(jobs))]))
    sys.stdout.buffer.flush()


def _on_thread(job: Job) -> Outcome:
    found: list[Outcome] = []

    def compile_elsewhere() -> None:
        kept = [bytes(64 + number % 512) for number in range(_ALLOCATIONS)]
        found.append(compile_job(job))
        del kept

    def start() -> None:
        thread = threading.Thread(target=compile_elsewhere)
        thread.start()
        thread.join()

    expected = reference(job, start)
    return found[0] if found else expected
