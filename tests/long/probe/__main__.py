"""The command: python -m tests.long.probe."""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import random
import sys
from collections.abc import Callable, Iterator, Sequence

from evidence.conformance.job import Job, compile_job, initialise, source
from optctx import Option, registry
from tests.long.probe.jobs import jobs, read_by_jobs
from tests.long.probe.llvm_tests import findings_of_tests, tuning_jobs
from tests.long.probe.values import accepted_values, hostile_values
from tests.long.probe.watching import Case, Finding, findings

__all__ = ["main"]

Values = Callable[[Option], list[str]]


def main(argv: Sequence[str] | None = None) -> int:
    """Every option with hostile values, wherever it is read; status 1 if one that modules may set misbehaves.

    One line of JSON for each thing that an option does beside compiling goes to a file.
    """
    arguments = _parser().parse_args(argv)
    initialise()
    if arguments.llvm_tests:
        return _llvm_tests(arguments.llvm_tests)
    known = registry()
    names = arguments.names or [
        name
        for name, option in known.items()
        if option.scope == "thread"
        and not option.alias_of
        and (option.trust == "tuning" or not arguments.accepted)
    ]
    readers = read_by_jobs(list(_surviving(_candidates(arguments.step))))
    print(f"{len(names)} options, {sum(name in readers for name in names)} of them read", flush=True)
    values = accepted_values if arguments.accepted else hostile_values
    wrong = 0
    with open(arguments.json, "w") as out:
        chosen = _choose(names, readers, arguments.jobs, random.Random(arguments.seed))
        for finding in _findings(names, chosen, values, arguments.attributes):
            out.write(json.dumps(_plain(finding)) + "\n")
            out.flush()
            if _accepted(finding.case):
                wrong += 1
                print(
                    f"modules may set {finding.case.name}={finding.case.value}: {finding.outcome.how}",
                    flush=True,
                )
    print(f"{wrong} findings of values that modules may set")
    return int(wrong > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.long.probe", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="options (default: all that can be scoped)")
    parser.add_argument("--jobs", type=int, default=6, metavar="N", help="compilations with each value (6)")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="takes only every N-th compilation")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the choice of compilations (0)")
    parser.add_argument("--attributes", action="store_true", help="as attributes of functions, not of scopes")
    parser.add_argument("--accepted", action="store_true", help="only values that modules may set")
    parser.add_argument(
        "--llvm-tests",
        nargs="+",
        metavar="FOLDER",
        help="the commands of LLVM's own tests instead (Transforms)",
    )
    parser.add_argument("--json", metavar="FILE", default="/dev/null", help="where the findings go")
    return parser


def _llvm_tests(folders: Sequence[str]) -> int:
    found = tuning_jobs(folders)
    print(f"{len(found)} commands whose options modules may set", flush=True)
    compile_job(found[0].bare())  # no child imports anything
    wrong = 0
    for finding in findings_of_tests(found):
        wrong += 1
        job, outcome = finding.case.job, finding.outcome
        words = " ".join(outcome.printed.split())[:200]
        print(f"{job.where} {job.options}: {outcome.how} {words}", flush=True)
    print(f"{wrong} findings")
    return int(wrong > 0)


def _candidates(step: int) -> list[Job]:
    """Compilations of which children need open no file and import nothing."""
    candidates = jobs()[::step]
    for job in candidates:
        source(job.path)
    compile_job(candidates[0])
    return candidates


def _choose(
    names: Sequence[str], readers: dict[str, list[Job]], count: int, chance: random.Random
) -> dict[str, list[Job]]:
    """For each option some of the jobs that read it, as different in target and pipeline as there are."""
    chosen = {}
    for name in names:
        found = readers.get(name, [])
        shuffled = chance.sample(found, len(found))
        kinds = {(job.triple, job.passes, job.opt_level): job for job in shuffled}
        chosen[name] = list(dict.fromkeys([*kinds.values(), *shuffled]))[:count]
    return chosen


def _findings(
    names: Sequence[str], chosen: dict[str, list[Job]], values: Values, attributes: bool
) -> Iterator[Finding]:
    # Processes, because what is no main thread has the C library open a file when it gives memory back.
    probe = functools.partial(_probe, readers=chosen, values=values, attributes=attributes)
    with multiprocessing.get_context("fork").Pool() as processes:
        for found in processes.imap(probe, names):
            yield from found


def _probe(name: str, readers: dict[str, list[Job]], values: Values, attributes: bool) -> list[Finding]:
    tried = values(registry()[name])
    return list(
        findings([Case(name, value, job, attribute=attributes) for job in readers[name] for value in tried])
    )


def _surviving(candidates: list[Job]) -> Iterator[Job]:
    """Those that stock LLVM compiles without a word."""
    dying = {finding.case.job for job in candidates for finding in findings([Case("", "", job)])}
    return (job for job in candidates if job not in dying)


def _accepted(case: Case) -> bool:
    option = registry()[case.name]
    return option.trust == "tuning" and case.value in accepted_values(option)


def _plain(finding: Finding) -> dict[str, object]:
    case, outcome = finding.case, finding.outcome
    job = {key: value for key, value in vars(case.job).items() if value not in ("", (), "default")}
    return {
        "option": case.name,
        "value": case.value,
        "how": outcome.how,
        "words": outcome.printed,
        "job": job,
    }


if __name__ == "__main__":
    sys.exit(main())
