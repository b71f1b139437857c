"""The command: python -m evidence.conformance.designs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evidence.conformance.cache import ReferenceCache
from evidence.conformance.choice import add_choice, choose, leave_for, tests_root, value_needs
from evidence.conformance.designs.design import DESIGNS, Design, Fault, HasContext, faults, handed_on, own
from evidence.conformance.designs.report import as_list, as_text, faults_as_list, totals
from evidence.conformance.designs.running import Judged, classify, run_design
from evidence.conformance.forked import run_forked
from evidence.conformance.job import Job, Outcome, initialise
from evidence.conformance.judging import Settings, compute_references
from evidence.conformance.runlines import read_jobs

__all__ = ["main", "make_parser"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 if a test differs although no option of it is at fault; 2 if there is no source."""
    options = make_parser().parse_args(arguments)
    started_in = Path.cwd()
    root = tests_root(options, "designs")
    ways = {name: _way(DESIGNS[name], options.handed_on) for name in options.design or DESIGNS}
    jobs, at_fault, build_id = _read(root, options.folders, ways)
    jobs = choose(jobs, options)
    found = {name: classify(jobs, at_fault[name]) for name in ways}
    print(f"{len(jobs)} jobs in {', '.join(options.folders)}", flush=True)
    if not options.no_run:
        _run(found, ways, jobs, build_id, options)
    print(as_text(found, DESIGNS))
    if options.list:
        (started_in / options.list).write_text(as_list(found))
    if options.faults:
        (started_in / options.faults).write_text(faults_as_list(at_fault))
    if options.json:
        told = {name: totals(judged) for name, judged in found.items()}
        (started_in / options.json).write_text(json.dumps(told, indent=1) + "\n")
    return int(any(each.end == "unexplained" for judged in found.values() for each in judged))


def _run(
    found: dict[str, list[Judged]],
    ways: dict[str, HasContext],
    jobs: list[Job],
    build_id: str,
    options: argparse.Namespace,
) -> None:
    leave_for(options.cache / "work")
    initialise()
    how = Settings(options.seed, options.threads, options.timeout)
    with ReferenceCache(options.cache, build_id, printed=False) as cache:
        compute_references(jobs, cache, how.timeout, printed=False)
        for name, judged in found.items():
            print(f"{name}:", flush=True)
            run_design(DESIGNS[name], ways[name], judged, cache, how)


def _way(design: Design, reads: Path | None) -> HasContext:
    return own(design) if reads is None else handed_on(design, reads)


def _read(
    root: Path, folders: Sequence[str], ways: dict[str, HasContext]
) -> tuple[list[Job], dict[str, dict[str, Fault]], str]:
    """(jobs, faults by design, the library). In a child, because this process must stay stock."""

    def work() -> Any:
        from evidence.census.tablegen import has_field
        from optctx.facts import facts

        taken = facts()
        without_field = {option.name for option in taken.options if not has_field(option)}
        at_fault = {
            name: faults(DESIGNS[name], taken.options, without_field, way) for name, way in ways.items()
        }
        return read_jobs(root, folders, value_needs())[0], at_fault, taken.build_id

    [(_, found)] = run_forked([(0, work)], timeout=600.0)
    if isinstance(found, Outcome):
        raise RuntimeError(f"cannot read the tests: {found.text}")
    return found


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.conformance.designs",
        description="Which of LLVM's own tests change under each proposed design of options: by the options "
        "that they set, and by running them in one process that models the design.",
    )
    add_choice(parser, seed="of the order of jobs and of the choice")
    parser.add_argument("--design", action="append", choices=list(DESIGNS), help="or another; default: all")
    parser.add_argument(
        "--handed-on",
        type=Path,
        metavar="READS.json",
        help="readers have the contexts of their callers, too, by this file of evidence.conformance.reads",
    )
    parser.add_argument("--no-run", action="store_true", help="judge by the options alone")
    parser.add_argument("--threads", type=int, default=2, help="at once")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for one job in a fresh process")
    parser.add_argument("--list", type=Path, metavar="FILE.tsv", help="write each test with a fault there")
    parser.add_argument("--faults", type=Path, metavar="FILE.tsv", help="write each option at fault there")
    parser.add_argument("--json", type=Path, help="write the totals there")
    return parser
