"""Which of LLVM's own tests a command takes: its arguments, the folder of tests, and the jobs among them."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evidence.conformance.forked import run_forked
from evidence.conformance.job import Job, Outcome
from evidence.conformance.runlines import NeedsValue, read_jobs
from evidence.conformance.scoped import shuffled
from evidence.conformance.source import SourceError, default_cache, llvm_tests
from evidence.conformance.verdict import option_names

__all__ = ["add_choice", "add_source", "choose", "leave_for", "read_tests", "tests_root", "value_needs"]


def add_source(
    parser: argparse.ArgumentParser, tests: str = "a folder with FOLDERs, in place of llvm/test"
) -> None:
    """The arguments that `tests_root` needs."""
    parser.add_argument("--tests", type=Path, help=tests)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where LLVM's tests are kept")


def add_choice(parser: argparse.ArgumentParser, *, seed: str) -> None:
    """The folders, and the arguments that `choose` and `tests_root` need. `seed`: what it decides."""
    parser.add_argument("folders", nargs="*", default=["Transforms", "Analysis", "CodeGen"])
    add_source(parser)
    parser.add_argument("--limit", type=int, default=0, help="so many jobs, chosen at random; 0 is all")
    parser.add_argument("--per-option", type=int, default=0, help="so many jobs for each option; 0 is all")
    parser.add_argument("--option", action="append", help="only jobs that set it, or another that is named")
    parser.add_argument("--seed", type=int, default=1, help=seed)


def tests_root(options: argparse.Namespace, command: str) -> Path:
    """The folder of tests, which is fetched if it has to be. Makes `options.cache` an absolute path.

    Where there is no source, the command says so and ends with status 2.
    """
    options.cache = options.cache.resolve()
    try:
        return options.tests.resolve() if options.tests else llvm_tests(options.cache)
    except SourceError as error:
        print(f"{command}: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def leave_for(folder: Path) -> None:
    """Some passes write files into the current folder, and some print its name."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)


def choose(jobs: list[Job], options: argparse.Namespace) -> list[Job]:
    """A part of the jobs: with certain options; at random so many in all, or so many for every option."""
    chosen: list[int] = []
    count: Counter[str] = Counter()
    for index in shuffled(len(jobs), options.seed):
        names = option_names(jobs[index])
        if options.option and not set(options.option) & set(names):
            continue
        if options.per_option and min(count[name] for name in names) >= options.per_option:
            continue
        chosen.append(index)
        count.update(names)
    return [jobs[index] for index in sorted(chosen[: options.limit or None])]


def value_needs() -> NeedsValue:
    """Whether an option takes a value. Attaches."""
    from optctx.context import needs_value
    from optctx.engine.attach import attach

    engine = attach()

    def needs(name: str) -> bool | None:
        option = engine.options.get(name)
        return None if option is None else needs_value(engine.resolve(option))

    return needs


def read_tests(root: Path, folders: Sequence[str]) -> tuple[list[Job], Counter[str], str]:
    """(jobs, what was left out and why, the library's build ID).

    In a child, because reading the registry attaches and this process must stay stock.
    """

    def work() -> Any:
        from optctx.engine.attach import attach

        return (*read_jobs(root, folders, value_needs()), attach().image.build_id)

    [(_, found)] = run_forked([(0, work)], timeout=600.0)
    if isinstance(found, Outcome):
        raise RuntimeError(f"cannot read the tests: {found.text}")
    return found
