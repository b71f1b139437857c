"""From where LLVM reads options in its own tests, and which context is reachable there.

    python -m evidence.conformance.reads [FOLDER...] [--limit N] [--per-option N] [--json FILE]
        [--without FILE]

Each job runs in a child of its own, inside its options. `--json` has the call stack of the first read of each
option by each function, the contexts that the functions on the stack reach by the types of their parameters,
and how many frames away.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence

from evidence.census.counts import totals_lines
from evidence.conformance.choice import absolute, add_choice, choose, new_parser, tests_root, value_needs
from evidence.conformance.recorded import reads_of
from evidence.conformance.runlines import read_jobs
from evidence.conformance.scoped import shuffled
from evidence.reads.children import run_in_children
from evidence.reads.places import ReadPlace, Reads, reads_as_json
from evidence.reads.signature import signature_of
from optctx.wording import counted

_SHOWN = 8  # frames of a stack


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 if nothing could be compiled; 2 if there is no source."""
    options = make_parser().parse_args(arguments)
    root = tests_root(options, "reads")
    jobs = choose(read_jobs(root, options.folders, value_needs())[0], options)
    jobs = [jobs[index] for index in shuffled(len(jobs), options.seed)]
    reads = Reads()
    given = ((job.where, job) for job in jobs)
    for ended in run_in_children(reads_of, given, jobs=2, seconds=options.timeout):
        if ended.problem:
            reads.failed[ended.name] = ended.problem
        else:
            reads.add(ended.reads)
    if options.json:
        options.json.write_text(reads_as_json(reads) + "\n")
    if options.without:
        options.without.write_text(as_markdown([place for place in reads.places if place.without]))
    print(*totals_lines(reads.totals), "", _summary(reads), sep="\n")
    return int(not reads.compilations)


def _summary(reads: Reads) -> str:
    """One line: how many places, and how many without a context."""
    places = reads.places
    without = [place for place in places if place.without]
    options = {place.option for place in places}
    alone = {place.option for place in without}
    return (
        f"{counted(reads.compilations, 'compilation')}: {counted(len(options), 'option')} read in "
        f"{counted(len(places), 'place')}; no context reachable in {counted(len(without), 'place')} of "
        f"{counted(len(alone), 'option')}"
    )


def as_markdown(places: Iterable[ReadPlace]) -> str:
    """The readers, each with the options that it reads and one stack, without parameters."""
    by_reader: dict[str, list[ReadPlace]] = {}
    for place in places:
        by_reader.setdefault(_short(place.function), []).append(place)
    return "\n".join(_section(reader, found) for reader, found in sorted(by_reader.items()))


def _section(reader: str, places: list[ReadPlace]) -> str:
    names = ", ".join(f"`{place.option}`" for place in places)
    example = places[0].example
    stack = [f"    {_short(function)}" for function in example[:_SHOWN]]
    if len(example) > _SHOWN:
        stack.append(f"    ... {len(example) - _SHOWN} more")
    return "\n".join([f"### {reader}", "", names, "", *stack, ""])


def _short(function: str) -> str:
    """A function without parameters and template arguments."""
    name = signature_of(function).qualified
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name


def make_parser() -> argparse.ArgumentParser:
    parser = new_parser(".reads", __doc__)
    add_choice(parser, seed="of the choice", seconds=30.0)
    parser.add_argument("--json", type=absolute, help="write every place there")
    parser.add_argument("--without", type=absolute, help="write stacks without a context there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
