"""Which of LLVM's own tests change under each proposed design of options.

By the options that they set, and by running them in one process that models the design.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evidence.conformance.cache import ReferenceCache
from evidence.conformance.choice import (
    absolute,
    add_choice,
    choose,
    new_parser,
    tests_root,
    value_needs,
    work_apart,
)
from evidence.conformance.designs.design import DESIGNS, Design, Fault, HasContext, faults, handed_on, own
from evidence.conformance.designs.report import as_list, as_text, faults_as_list
from evidence.conformance.designs.running import Judged, classify, run_design
from evidence.conformance.forked import ask_child
from evidence.conformance.job import Job
from evidence.conformance.judging import Settings, compute_references
from evidence.conformance.runlines import read_jobs


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 if a test differs although no option of it is at fault; 2 if there is no source."""
    options = make_parser().parse_args(arguments)
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
        options.list.write_text(as_list(found))
    if options.faults:
        options.faults.write_text(faults_as_list(at_fault))
    return int(any(each.end == "unexplained" for judged in found.values() for each in judged))


def _run(
    found: dict[str, list[Judged]],
    ways: dict[str, HasContext],
    jobs: list[Job],
    build_id: str,
    options: argparse.Namespace,
) -> None:
    work_apart(options)
    how = Settings(options.seed, options.timeout)
    with ReferenceCache(options.cache, build_id) as cache:
        compute_references(jobs, cache, how.timeout)
        for name, judged in found.items():
            print(f"{name}:", flush=True)
            run_design(DESIGNS[name], ways[name], judged, cache, how)


def _way(design: Design, reads: Path | None) -> HasContext:
    return own(design) if reads is None else handed_on(design, reads)


def _read(
    root: Path, folders: Sequence[str], ways: dict[str, HasContext]
) -> tuple[list[Job], dict[str, dict[str, Fault]], str]:
    """(jobs, faults by design, the library). In a child, because this process must stay stock."""

    def work() -> tuple[list[Job], dict[str, dict[str, Fault]], str]:
        from evidence.census.tablegen import has_field
        from optctx.facts import facts

        taken = facts()
        without_field = {option.name for option in taken.options if not has_field(option)}
        at_fault = {
            name: faults(DESIGNS[name], taken.options, without_field, way) for name, way in ways.items()
        }
        return read_jobs(root, folders, value_needs())[0], at_fault, taken.build_id

    return ask_child(work)


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = new_parser(".designs", __doc__)
    add_choice(parser, seed="of the order of jobs and of the choice")
    parser.add_argument("--design", action="append", choices=list(DESIGNS), help="or another; default: all")
    parser.add_argument(
        "--handed-on",
        type=absolute,
        metavar="READS.json",
        help="readers have the contexts of their callers, too, by this file of evidence.conformance.reads",
    )
    parser.add_argument("--no-run", action="store_true", help="judge by the options alone")
    parser.add_argument("--list", type=absolute, metavar="FILE.tsv", help="write tests with a fault there")
    parser.add_argument("--faults", type=absolute, metavar="FILE.tsv", help="write options at fault there")
    return parser
