"""Which of LLVM's own tests a command takes: its arguments, the folder of tests, and the jobs among them."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from evidence.conformance import fresh
from evidence.conformance.job import Job
from evidence.conformance.library import choose_library, judged_image
from evidence.conformance.runlines import read_jobs
from evidence.conformance.scoped import shuffled
from evidence.conformance.source import default_cache, llvm_tests
from evidence.conformance.verdict import option_names
from evidence.shell import StepError
from optctx.engine.attach import attach
from optctx.values.texts import needs_value


class _Read(NamedTuple):
    jobs: list[Job]
    left_out: dict[str, int]
    build_id: str


def new_parser(program: str, about: str | None) -> argparse.ArgumentParser:
    """The parser of a program of this package, "" for its own."""
    return argparse.ArgumentParser(
        prog=f"python -m evidence.conformance{program}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_choice(parser: argparse.ArgumentParser, *, seed: str, seconds: float = 20.0) -> None:
    """The folders, what `choose` and `read_tests` need, and a limit. `seed`: what it decides."""
    parser.add_argument("folders", nargs="*", default=["Transforms", "Analysis", "CodeGen"])
    parser.add_argument("--tests", type=absolute, help="a folder with FOLDERs, in place of llvm/test")
    cache = default_cache().resolve()
    parser.add_argument("--cache", type=absolute, default=cache, help="where LLVM's tests are kept")
    parser.add_argument("--limit", type=int, default=0, help="so many jobs, chosen at random; 0 is all")
    parser.add_argument("--per-option", type=int, default=0, help="so many jobs for each option; 0 is all")
    parser.add_argument("--option", action="append", help="only jobs that set it, or another that is named")
    parser.add_argument("--seed", type=int, default=1, help=seed)
    parser.add_argument("--timeout", type=float, default=seconds, help="seconds for one job in its process")


def absolute(text: str) -> Path:
    """A file or folder, also for a program that goes to another folder."""
    return Path(text).resolve()


def work_apart(options: argparse.Namespace) -> None:
    """Go to a folder of its own: some passes write files there, and some print its name."""
    folder = options.cache / "work"
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


def read_tests(options: argparse.Namespace) -> tuple[list[Job], Counter[str], str]:
    """(jobs, what was left out and why, the library's build ID).

    Fetches the tests if it has to. Where there is no source, it says so and ends the program with status 2.
    """
    try:
        root = options.tests or llvm_tests(options.cache)
    except StepError as error:
        print(f"conformance: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    choose_library(getattr(options, "llvm", None))
    done = fresh.POOL.running().call(read_here, str(root), options.folders, gives=_Read)
    if done.value is None:
        raise RuntimeError(f"cannot read the tests: {done.error or done.death}")
    jobs, left_out, build_id = done.value
    return jobs, Counter(left_out), build_id


def read_here(_: None, root: str, folders: list[str]) -> _Read:
    """In a child, which attaches to know which options take values."""
    engine = attach(judged_image())

    def needs(name: str) -> bool | None:
        option = engine.options.get(name)
        return None if option is None else needs_value(engine.resolve(option))

    return _Read(*read_jobs(Path(root), folders, needs), engine.image.build_id)
