"""What the commands that compile a file share: its arguments, the job that they make, a progress bar."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import binding
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from optctx.cli.console import printable
from optctx.cli.files import read_file
from optctx.cli.parser import positive
from optctx.cli.targets import check_target
from optctx.errors import OptctxError, shown
from optctx.fresh import Job

__all__ = ["add_job_arguments", "job_of", "positive", "progress_bar"]


def add_job_arguments(parser: argparse.ArgumentParser) -> None:
    """Enter the file and what to do with it."""
    parser.add_argument("file", help="LLVM IR as text; '-' for standard input")
    parser.add_argument("--passes", default="default<O3>", help="pipeline as for `opt -passes` (%(default)s)")
    parser.add_argument("--triple", default="", help="target (the file's own, or this machine's)")
    parser.add_argument("--cpu", default="", help="processor, or 'native' for this one (a generic one)")
    parser.add_argument("--features", default="", help="such as +avx2,-fma")
    parser.add_argument("--opt-level", type=int, choices=range(4), default=2, help="of the code generator")


def job_of(arguments: argparse.Namespace) -> Job:
    """The job that the arguments describe.

    Raises OSError and OptctxError for a file that cannot be read, OptctxError with LLVM's words for a target
    that it does not know.
    """
    for name in ("passes", "triple", "cpu", "features"):
        text = getattr(arguments, name)
        if printable(text) != text:
            raise OptctxError(f"cannot use --{name}: expected UTF-8, found {shown(text)}")
    cpu, features = arguments.cpu, arguments.features
    if cpu == "native":
        cpu = binding.get_host_cpu_name()
        features = features or binding.get_host_cpu_features().flatten()
    job = Job(
        ir=_read(arguments.file),
        passes=arguments.passes,
        triple=arguments.triple,
        cpu=cpu,
        features=features,
        opt_level=arguments.opt_level,
    )
    check_target(job)
    return job


@contextmanager
def progress_bar() -> Iterator[Callable[[int], None]]:
    """A bar on standard error while the block lasts, where that is a terminal.

    Gives what to call, on any thread, after each compilation, with the number of all of them.
    """
    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda total: bar.update(task, total=total, advance=1)


def _read(path: str) -> str:
    try:
        if path == "-":
            if sys.stdin is None:
                raise OptctxError("cannot read standard input: it is closed; name a file instead of '-'")
            return sys.stdin.buffer.read().decode()
        return read_file(path, "LLVM IR as text").decode()
    except UnicodeDecodeError:
        raise OptctxError(f"{path} is not text; expected LLVM IR in text form (see llvm-dis)") from None
