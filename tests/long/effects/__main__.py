"""Every option that modules may set, as the attribute of one of two equal functions.

Status 1 if an attribute is taken and does not do what the option of a process of stock LLVM does.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import optctx
from evidence.conformance.job import source
from optctx import OptionContext, record, registry
from optctx.compiling import FreshProcess, Job, Result, compile_job, compile_unchecked
from tests.long.effects.functions import doubled, functions_of, with_attribute
from tests.long.fuzz.confined import Limits, outcomes
from tests.long.probe.jobs import jobs, unlike
from tests.long.probe.values import spread_values, tuning_options

_READERS = 6  # compilations that are tried with an option
_EFFECTS = 3  # compilations of an option that it changes
_REPEATS = 6


@dataclass(frozen=True)
class Case:
    """A compilation without options, with what stock LLVM gives for it and the options that it reads."""

    job: Job
    stock: Result
    read: frozenset[str]


class Effect(NamedTuple):
    """An option whose value changes a compilation of stock LLVM."""

    argument: str
    case: Case
    changed: Result


def main() -> int:
    optctx.attach(attributes="error", trust=("tuning",))
    with FreshProcess(timeout=60) as fresh, ThreadPoolExecutor(2) as pool:
        cases = [case for case in pool.map(partial(case_of, fresh=fresh), candidates()) if case is not None]
        print(f"{len(cases)} compilations", flush=True)
        return int(of_attributes(cases, [option.name for option in tuning_options()], fresh) > 0)


def candidates() -> list[Job]:
    """The jobs of the probe, with every function twice. SPIR-V has no attributes of functions.

    ARM at -O0 is left out: an attribute there takes a function from FastISel (design/target-machines.md).
    """
    found: dict[Job, None] = {}
    for job in jobs():
        if not job.solitary and not (job.opt_level == 0 and job.triple.startswith(("armv", "thumb"))):
            is_ir = job.tool == "opt"
            found.setdefault(
                Job(
                    doubled(source(job.path)),
                    job.passes if is_ir else "verify",
                    triple=job.triple,
                    cpu=job.cpu,
                    features=job.features,
                    opt_level=job.opt_level,
                    emit="ir" if is_ir else "assembly",
                )
            )
    return list(found)


def case_of(job: Job, fresh: FreshProcess) -> Case | None:
    """None for what stock LLVM does not compile, or compiles otherwise each time (gvn-hoist)."""
    stock = fresh.compile(job)
    if stock.error is not None or any(compile_job(job) != stock for _ in range(_REPEATS)):
        return None
    with OptionContext(), record() as log:
        found = compile_job(job)
    assert found == stock, f"{found.error}: {job.triple} {job.passes}"
    return Case(job, stock, log.names)


def of_attributes(cases: Sequence[Case], names: Sequence[str], fresh: FreshProcess) -> int:
    """How many attributes do not act, although no error says so.

    An option that acts elsewhere may be silent where passes over the module alone read it: they have the
    options of the module (docs/guide/binding.md).
    """
    counts: Counter[str] = Counter()
    wrong = 0
    for found in effects(cases, names, fresh):
        told = answers(found)
        right = {"acts", "refused", *(("silent",) if "acts" in told else ())}
        for effect, answer in zip(found, told, strict=True):
            wrong += answer not in right
            if answer not in ("acts", "refused"):
                job = effect.case.job
                print(f"{answer}: {effect.argument} in {job.triple} {job.passes} {job.opt_level}", flush=True)
        counts[" and ".join(sorted({*told})) or "without an effect"] += 1
    read = sum(counts.values())
    print(f"{len(names)} options, {read} read:", ", ".join(f"{counts[how]} {how}" for how in sorted(counts)))
    print(f"{wrong} attributes that are taken and do something else")
    return wrong


def effects(cases: Sequence[Case], names: Sequence[str], fresh: FreshProcess) -> Iterator[list[Effect]]:
    """Yield, for each option that LLVM reads, what it changes in some of the cases."""
    read = [name for name in names if any(name in case.read for case in cases)]
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(partial(_effects, cases, fresh), read)


def _effects(cases: Sequence[Case], fresh: FreshProcess, name: str) -> list[Effect]:
    reading = [case for case in cases if name in case.read]
    found: list[Effect] = []
    for case in unlike(reading, lambda case: case.job, random.Random(name))[:_READERS]:
        for value in spread_values(registry()[name]):
            argument = f"-{name}={value}"
            changed = fresh.compile(replace(case.job, options=(argument,)))
            if changed.error is None and _changes(case.stock, changed):
                found.append(Effect(argument, case, changed))
                break
        if len(found) == _EFFECTS:
            break
    return found


def answers(found: Sequence[Effect]) -> list[str]:
    """What came of each attribute, in a child that cannot reach outside.

    acts: as the option of the process on its function alone; silent: not at all; partly: otherwise;
    refused; failed: LLVM gave an error; or how the child ended.
    """
    return [outcome.how for outcome in outcomes(found, _answer, Limits())]


def _changes(stock: Result, changed: Result) -> bool:
    before, after = _functions(stock), _functions(changed)
    return any(before[name] != after.get(name) for name in before)


def _answer(effect: Effect) -> str:
    # Confined: it starts no process. In a scope, because LLVM sets some options of the process for good:
    # min-jump-table-entries, when it compiles for AVR.
    job = effect.case.job
    with OptionContext(base="defaults"):
        given = compile_unchecked(replace(job, ir=with_attribute(str(job.ir), effect.argument)))
    if given.error is not None:
        return "refused" if "nothing has been run: cannot use" in given.error else "failed"
    stock, changed, found = map(_functions, (effect.case.stock, effect.changed, given))
    right = {name: (changed if name.endswith("_one") else stock).get(name) for name in {**stock, **changed}}
    if all(found.get(name) == text for name, text in right.items()):
        return "acts"
    return "silent" if found == stock else "partly"


def _functions(result: Result) -> dict[str, str]:
    return functions_of(result.ir if result.ir is not None else result.code.decode())


if __name__ == "__main__":
    sys.exit(main())
