"""Is a job stable in stock LLVM? Measured without optctx: repetition, and other compilations near it.

Each run is a process of its own. A scrambled heap shows output that depends on the order of addresses.
Company is chosen among tests of the same folder first, since those run the same passes, and once among those
that came first in the contexts' process, since LLVM keeps some things from then on. "with own options":
the options of the company are set process-wide for it and reset before the job's own are; the control does
the same without the company's compilations, and where it differs, the reset is at fault and these runs say
nothing.
"""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from evidence.conformance.fresh import elsewhere, reference, reference_after, run_fresh
from evidence.conformance.job import Job, Outcome, SharedMachines, compile_job
from evidence.conformance.library import judged_image
from evidence.strategies.arguments import reset_process_options
from optctx.process import set_process_options

_REPEATS = 3
_ROUNDS = 4  # processes for each kind of company
_COMPANY = 10  # other jobs in one of them
_BLOCKS = 40_000  # of the heap that is scrambled, of up to so many times 16 bytes
_LARGEST = 64
_OWN = "with own options"

Task = tuple[tuple[int, str], tuple[Any, ...]]


@dataclass
class Stability:
    """What stock LLVM gave: description of the run -> kind and digest."""

    runs: dict[str, str] = field(default_factory=dict)

    @property
    def stable(self) -> bool:
        """All runs in processes that never saw other options are the same."""
        return len({words for name, words in self.runs.items() if _OWN not in name}) <= 1

    @property
    def keeps_state(self) -> bool:
        """Stable, but options that were set earlier in the process, and reset, still show."""
        return self.stable and len(set(self.runs.values())) > 1


def measure(
    jobs: Sequence[Job],
    indices: Sequence[int],
    safe: Sequence[int],
    timeout: float,
    seed: int,
    *,
    order: Sequence[int],
    shared_machines: bool = False,
) -> dict[int, Stability]:
    """For each of `indices`. `safe`: jobs that end well in a fresh process, to be their company; `order`: in
    which contexts compiled them; `shared_machines`: in which they shared target machines."""
    found = {index: Stability() for index in indices}
    tasks = _tasks(jobs, indices, safe, order, seed)
    if shared_machines:
        tasks = chain(tasks, _on_used_machines(jobs, indices))
    died_beside = []
    for (index, name), outcome in run_fresh(tasks, timeout * 3):
        if outcome.kind == "died" and name.startswith("beside"):
            died_beside.append((index, name, outcome))
        if outcome.kind == "late" or (outcome.kind in ("died", "rejected") and not name.startswith("alone")):
            continue  # perhaps the company's fault
        found[index].runs[name] = outcome.words()
    for index, name, outcome in died_beside:  # although the very same company can go before it
        if name.replace("beside", "after") in found[index].runs:
            found[index].runs[name] = outcome.words()
    for number in range(_ROUNDS):
        on_thread = number % 2 == 1
        name = f"another process {number}" + (", on a thread" if on_thread else "")
        outcomes = elsewhere([jobs[i] for i in indices], timeout, on_thread=on_thread)
        for index, outcome in zip(indices, outcomes, strict=True):
            if outcome.kind != "late":
                found[index].runs[name] = outcome.words()
    for stability in found.values():
        _drop_misled(stability.runs)
    return found


def _drop_misled(runs: dict[str, str]) -> None:
    for number in range(_ROUNDS):
        control = runs.pop(f"control {number}", None)
        if control != runs.get("alone 0"):
            runs.pop(f"after others {_OWN} {number}", None)


def _tasks(
    jobs: Sequence[Job], indices: Sequence[int], safe: Sequence[int], order: Sequence[int], seed: int
) -> Iterator[Task]:
    for index in indices:
        job = jobs[index]
        first = _came_first(jobs, index, safe, order)
        yield (index, "after those that came first"), (after, job, first)
        for number in range(_REPEATS):
            yield (index, f"alone {number}"), (reference, job)
        yield (index, "after itself"), (after, job, [job])
        for number in range(2 * _ROUNDS):
            yield (index, f"scrambled heap {number}"), (in_scrambled_heap, job, number)
        for number in range(_ROUNDS):
            others = _company(jobs, index, safe, random.Random(f"{seed} {index} {number}"))
            yield (index, f"after others {number}"), (after, job, others)
            yield (index, f"after others {_OWN} {number}"), (after_own_options, job, others, True)
            yield (index, f"control {number}"), (after_own_options, job, others, False)
            yield (index, f"beside others {number}"), (beside, job, others)


def _on_used_machines(jobs: Sequence[Job], indices: Sequence[int]) -> Iterator[Task]:
    """Stock LLVM keeps some things with a machine: for NVPTX it numbers the calls of all that it compiles."""
    for index in indices:
        for times in (1, 2):
            name = f"on a machine that has compiled it {times} times"
            yield (index, name), (again_on_its_machine, jobs[index], times)


# In children.


def again_on_its_machine(_: None, job: Job, times: int) -> Outcome:
    """The job on a machine that has compiled it."""
    if job.options:
        set_process_options(job.options, judged_image())
    machines = SharedMachines()
    for __ in range(times):
        compile_job(job, machines=machines)
    return compile_job(job, machines=machines)


def _company(jobs: Sequence[Job], index: int, safe: Sequence[int], rng: random.Random) -> list[Job]:
    folder = Path(jobs[index].path).parent
    candidates = [jobs[i] for i in safe if i != index and jobs[i].tool == jobs[index].tool]
    near = [job for job in candidates if Path(job.path).parent == folder]
    chosen = rng.sample(near, min(_COMPANY * 3 // 4, len(near)))
    far = rng.sample(candidates, min(_COMPANY - len(chosen), len(candidates)))
    return rng.sample(chosen + far, len(chosen) + len(far))


def _came_first(jobs: Sequence[Job], index: int, safe: Sequence[int], order: Sequence[int]) -> list[Job]:
    ends_well = set(safe)
    before = (jobs[i] for i in order[: order.index(index)] if i in ends_well)
    near = (job for job in before if Path(job.path).parent == Path(jobs[index].path).parent)
    return list(islice(near, _COMPANY))


def after(_: None, job: Job, others: list[Job]) -> Outcome:
    """The job after others, all under its own options."""
    return reference_after(job, partial(_compile, others))


def in_scrambled_heap(_: None, job: Job, seed: int) -> Outcome:
    """The job where free memory has holes."""
    return reference_after(job, partial(_scramble, seed))


def _scramble(seed: int) -> None:
    """Leaves holes in the heap in random order, so that later objects do not lie in order of their making."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = (ctypes.c_void_p,)
    rng = random.Random(seed)
    blocks = [libc.malloc(16 * rng.randint(1, _LARGEST)) for _ in range(_BLOCKS)]
    rng.shuffle(blocks)
    for block in blocks[: _BLOCKS * 3 // 4]:
        libc.free(block)


def _compile(others: Sequence[Job]) -> None:
    for other in others:
        compile_job(other)


def after_own_options(_: None, job: Job, others: list[Job], compiling: bool) -> Outcome:
    """The job after others were compiled, or only their options set and reset."""
    for other in others:
        set_process_options(other.options, judged_image())
        if compiling:
            compile_job(other)
        reset_process_options(judged_image())
    return reference(None, job)


def beside(_: None, job: Job, others: list[Job]) -> Outcome:
    """The job again and again while a second thread compiles the others; the first outcome that is odd."""
    set_process_options(job.options, judged_image())
    expected = compile_job(job)
    company = threading.Thread(target=_compile, args=(others,))
    company.start()
    outcome = compile_job(job)
    while company.is_alive() and outcome == expected:
        outcome = compile_job(job)
    company.join()
    return outcome
