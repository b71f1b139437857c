"""The command: python -m evidence.conformance."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from evidence.conformance.audited import find_sightings, sightings_as_text
from evidence.conformance.cache import ReferenceCache
from evidence.conformance.choice import absolute, add_choice, choose, new_parser, read_tests, work_apart
from evidence.conformance.judging import compute_references, judge_all
from evidence.conformance.recorded import (
    find_recorded,
    recorded_as_text,
    removals,
    sensitive_jobs,
)
from evidence.conformance.report import as_json, as_text
from evidence.conformance.scoped import Mode


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every stable job agrees or is refused by name, the audit saw nothing, and every
    option that changes the output was recorded as read; else 1.

    2 if there is no source.
    """
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.shared_machines and (options.audit or options.record):
        parser.error("--shared-machines goes with neither --audit nor --record")
    if options.llvm and (options.shared_machines or options.record):
        parser.error("--llvm goes with neither --shared-machines nor --record")
    jobs, left_out, build_id = read_tests(options)
    jobs = choose(jobs, options)
    print(f"{len(jobs)} jobs in {', '.join(options.folders)}", flush=True)
    work_apart(options)
    mode = Mode(options.spoil, options.audit, options.record, options.shared_machines)
    with ReferenceCache(options.cache, build_id) as cache:
        verdicts = judge_all(jobs, cache, options.timeout, mode, options.seed)
        recorded = None
        if options.record:
            without = {changed: None for job in sensitive_jobs(verdicts) for _, changed in removals(job)}
            compute_references([*without], cache, options.timeout)
            recorded = find_recorded(verdicts, cache)
    print(as_text(verdicts, left_out))
    if options.audit:
        print(*sightings_as_text(verdicts), "", sep="\n")
    if recorded is not None:
        print(*recorded_as_text(recorded), "", sep="\n")
    if options.json:
        told = {"settings": {**vars(options), "library": build_id}, **as_json(verdicts, left_out)}
        if recorded is not None:
            told["record"] = asdict(recorded)
        options.json.write_text(json.dumps(told, indent=1, default=str) + "\n")
    return int(
        bool(find_sightings(verdicts))
        or bool(recorded is not None and recorded.missing)
        or any(verdict.verdict in ("differing", "crashed") for verdict in verdicts)
    )


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = new_parser("", __doc__)
    add_choice(parser, seed="of the order of jobs and of the choice")
    parser.add_argument("--spoil", action="store_true", help="spoil the process-wide values first")
    parser.add_argument(
        "--audit", action="store_true", help="report accesses to LLVM's own option storage; one thread"
    )
    parser.add_argument(
        "--record", action="store_true", help="every option that changes the output must be recorded as read"
    )
    parser.add_argument(
        "--shared-machines",
        action="store_true",
        help="one target machine for each triple, processor and other property, used by all contexts",
    )
    parser.add_argument("--llvm", help="a libLLVM that users build, in place of llvmlite's")
    parser.add_argument("--json", type=absolute, help="write the report there")
    return parser
