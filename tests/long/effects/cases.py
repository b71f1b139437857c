"""What is compiled, what LLVM reads in it, and what stock LLVM makes of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evidence.conformance.job import source
from optctx import Option, OptionContext, record
from optctx.compiling import FreshProcess, Job, Result, compile_job
from tests.long.effects.functions import doubled, with_attribute
from tests.long.probe.jobs import jobs
from tests.long.probe.values import spread_values


@dataclass(frozen=True)
class Case:
    """A compilation without options, with what stock LLVM gives for it and the options that it reads."""

    job: Job
    kind: tuple[str, str]
    stock: Result
    read: frozenset[str]

    def given(self, options: Sequence[str]) -> Job:
        """The compilation under options of the whole process."""
        return replace(self.job, options=tuple(options))

    def attributed(self, attribute: str) -> Job:
        """The compilation with the attribute on the first of each two functions."""
        return replace(self.job, ir=with_attribute(str(self.job.ir), attribute))


def candidates() -> list[Job]:
    """The jobs of the probe, with every function twice. SPIR-V has no attributes of functions.

    ARM at -O0 is left out: an attribute there takes a function from FastISel (design/target-machines.md).
    """
    found: dict[Job, None] = {}
    for job in jobs():
        if not job.solitary and not (job.opt_level == 0 and job.triple.startswith(("armv", "thumb"))):
            found.setdefault(
                Job(
                    doubled(source(job.path)),
                    job.passes if job.tool == "opt" else "verify",
                    triple=job.triple,
                    cpu=job.cpu,
                    features=job.features,
                    opt_level=job.opt_level,
                    emit="ir" if job.tool == "opt" else "assembly",
                )
            )
    return list(found)


_REPEATS = 6


def case_of(job: Job, fresh: FreshProcess) -> Case | None:
    """None for what stock LLVM does not compile, or compiles otherwise each time (gvn-hoist)."""
    stock = fresh.compile(job)
    if stock.error is not None or any(compile_job(job) != stock for _ in range(_REPEATS)):
        return None
    with OptionContext(), record() as log:
        found = compile_job(job)
    assert found == stock, f"{found.error}: {job.triple} {job.passes}"
    return Case(job, (job.triple, f"{job.passes} {job.opt_level}"), stock, log.names)


def readers(cases: Sequence[Case], name: str, most: int) -> list[Case]:
    """Some of those that read the option, as different in target and pipeline as there are."""
    found = [case for case in cases if name in case.read]
    shuffled = random.Random(name).sample(found, len(found))
    kinds = {case.kind: case for case in shuffled}
    return list({id(case): case for case in (*kinds.values(), *shuffled)}.values())[:most]


def values_of(option: Option) -> list[str]:
    """Values that modules may set, other than the default."""
    return [text for text in spread_values(option) if text != str(option.default).lower()]
