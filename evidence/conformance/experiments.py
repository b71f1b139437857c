"""What LLVM does with options in one process, on LLVM's own tests and without any scope.

    python -m evidence.conformance.experiments EXPERIMENT [FOLDER...] [--limit N] [--per-option N]

machine-outside: make the target machine before the options are set, and compile after. Which outputs differ
    from those of a machine that is made under the options?
stranger: set the options of another test first, and then the test's own: readers fall back to the values of
    the process. Which outputs differ from a fresh process?
daemon: run another test first, with its options, and reset all options, as a tool that stays alive does.
    Which outputs differ from a fresh process?
threads: compile where starting a thread or a process ends the process. Which compilations do?
written: compare the options before and after a compilation. Which does LLVM itself change?

Each compilation has a child of its own.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Final

from llvmlite import binding

from evidence.conformance.cache import ReferenceCache
from evidence.conformance.choice import add_choice, choose, new_parser, read_tests, work_apart
from evidence.conformance.forked import reference, run_forked
from evidence.conformance.job import Job, Outcome, compile_job, make_machine, source
from evidence.conformance.judging import compute_references
from evidence.conformance.verdict import option_names
from optctx.process import reset_process_options, set_process_options
from tests.support.seccomp import FORBIDDEN, confine

_STARTS = ("fork", "vfork", "clone", "clone3")
_SHOWN = 20
_NO_MACHINE = "no machine"


def machine_outside(job: Job, _: Job) -> Outcome:
    """The machine is made under the registered values."""
    with binding.create_context() as context:
        with binding.parse_assembly(source(job.path), context) as module:
            triple = job.triple or module.triple
        if not triple and job.tool == "opt":
            return Outcome(_NO_MACHINE)
    triple = triple or binding.get_process_triple()
    machine = make_machine(job, triple)
    set_process_options(job.options)
    return compile_job(job, machines=lambda *_: nullcontext(machine))


def stranger(job: Job, other: Job) -> Outcome:
    """Another test's options are in force for the process already."""
    set_process_options(other.options)
    return reference(job)


def daemon(job: Job, other: Job) -> Outcome:
    """The process has run another test, and has reset all options since."""
    set_process_options(other.options)
    compile_job(other)
    reset_process_options()
    return reference(job)


def threads(job: Job, _: Job) -> Outcome:
    """SIGSYS ends what starts a thread."""
    set_process_options(job.options)
    confine(allowed=FORBIDDEN.keys() - _STARTS)
    return compile_job(job)


def written(job: Job, _: Job) -> Outcome:
    """The text names the options that the compilation changed."""
    from optctx import drift

    set_process_options(job.options)
    before = dict(drift())
    outcome = compile_job(job)
    after = dict(drift())
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return Outcome(outcome.kind, outcome.digest, text=" ".join(changed))


EXPERIMENTS: Final[dict[str, Callable[[Job, Job], Outcome]]] = {
    "machine-outside": machine_outside,
    "stranger": stranger,
    "daemon": daemon,
    "threads": threads,
    "written": written,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 if nothing could be compiled; 2 if there is no source."""
    options = make_parser().parse_args(arguments)
    jobs, _, build_id = read_tests(options, "experiments")
    jobs = choose(jobs, options)
    work_apart(options)
    with ReferenceCache(options.cache, build_id) as cache:
        compute_references(jobs, cache, options.timeout)
        known = [(job, cache.get(job)) for job in jobs]
    well = [(job, outcome) for job, outcome in known if outcome is not None and outcome.kind == "output"]
    if options.experiment == "written":
        from optctx import attach

        attach()  # once, for all children; nothing is inside a context
    run = EXPERIMENTS[options.experiment]
    found = dict(run_forked(_tasks(run, [job for job, _ in well], options.seed), options.timeout))
    rows = [_Row(job, expected, found[index]) for index, (job, expected) in enumerate(well)]
    print(_summary(rows))
    return int(not rows)


def _tasks(
    run: Callable[[Job, Job], Outcome], jobs: Sequence[Job], seed: int
) -> Iterator[tuple[int, Callable[[], Outcome]]]:
    rng = random.Random(seed)
    for index, job in enumerate(jobs):
        yield index, partial(run, job, rng.choice(jobs))


class _Row:
    """One job. `what` is notable about it; empty if nothing is."""

    def __init__(self, job: Job, expected: Outcome, found: Outcome) -> None:
        self.job = job
        self.compiled = found.kind != _NO_MACHINE
        self.changed = found.text.split() if found.kind == "output" else []
        if not self.compiled:
            self.what = ""
        elif found.kind == "died":
            self.what = f"died ({found.text.split(':')[0]})"
        elif found.kind != expected.kind:
            self.what = found.kind
        elif found.digest != expected.digest:
            self.what = "another output"
        else:
            self.what = f"changed {' '.join(self.changed)}" if self.changed else ""


def _summary(rows: Sequence[_Row]) -> str:
    compiled = [row for row in rows if row.compiled]
    kinds = Counter(row.what.split(" ", 1)[0] if row.changed else row.what for row in compiled)
    count: Counter[str] = Counter()
    for row in compiled:
        if row.what:
            count.update(row.changed or option_names(row.job))
    lines = [f"{len(compiled):,} compiled; {len(rows) - len(compiled):,} without a target machine left out"]
    lines += [f"{number:8,}  {what or 'as in a fresh process'}" for what, number in kinds.most_common()]
    lines += ["", f"Options of the others: {len(count)}"]
    lines += [f"{number:8,}  {name}" for name, number in count.most_common(_SHOWN)]
    return "\n".join(lines)


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = new_parser(".experiments", __doc__)
    parser.add_argument("experiment", choices=list(EXPERIMENTS))
    add_choice(parser, seed="of the choice and of the strangers")
    return parser


if __name__ == "__main__":
    sys.exit(main())
