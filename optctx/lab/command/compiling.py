"""Common parts of the commands that compile a file: arguments, the job, a progress bar."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from llvmlite import binding

from optctx.compiling import Job
from optctx.errors import OptctxError, shown
from optctx.lab.command.console import encodable
from optctx.lab.command.inputs import Clang, read_input
from optctx.lab.command.parser import positive, seconds
from optctx.lab.settings import completing

__all__ = ["add_job_arguments", "job_of", "jobs_of", "positive", "seconds", "target_job"]


def add_job_arguments(
    parser: argparse.ArgumentParser, *, several: bool | None = False, pipelines: bool = False
) -> None:
    """Add the arguments for the file, or `several` files (None: or no file), and for how to compile them.

    `pipelines`: `--passes` can be repeated, and is a list under that name.
    """
    words = "LLVM IR (.ll), bitcode (.bc), or C or C++ (.c, .cpp) for clang; '-' for standard input"
    if several is not False:
        named = parser.add_argument("files", nargs="+" if several else "*", metavar="FILE", help=words)
    else:
        named = parser.add_argument("file", metavar="FILE", help=words)
    completing(named, "file")
    if pipelines:
        parser.add_argument(
            "--passes",
            action="append",
            default=[],
            metavar="PASSES",
            dest="pipelines",
            help="pipeline as for `opt -passes` (default<O3>); repeat to try several",
        )
    else:
        parser.add_argument(
            "--passes", default="default<O3>", help="pipeline as for `opt -passes` (%(default)s)"
        )
    parser.add_argument("--triple", default="", help="target (the file's own, or this machine's)")
    parser.add_argument("--cpu", default="", help="processor, or 'native' for this one (a generic one)")
    parser.add_argument("--features", default="", help="such as +avx2,-fma")
    parser.add_argument("--opt-level", type=int, choices=range(4), default=2, help="of the code generator")
    parser.add_argument("--clang", default="clang", metavar="PROGRAM", help="what compiles C and C++")
    parser.add_argument(
        "--clang-options", default="", metavar="ARGS", help="for clang: --clang-options='-Iinclude -DN=8'"
    )


def job_of(arguments: argparse.Namespace) -> Job:
    """The job that the arguments describe, with the one file that they name.

    Raises OptctxError for a file that cannot be read or compiled.
    """
    (job,) = _jobs(arguments, [arguments.file])
    return job


def jobs_of(arguments: argparse.Namespace) -> dict[str, Job]:
    """The jobs that the arguments describe, by the name of the file. Raises as `job_of` does."""
    names = [encodable(path) for path in arguments.files]
    for name in names:
        if names.count(name) > 1:
            raise OptctxError(f"{name} is given twice; give it once")
    return dict(zip(names, _jobs(arguments, arguments.files), strict=True))


def target_job(arguments: argparse.Namespace) -> Job:
    """The job without a module that the arguments describe. Raises OptctxError for text that is not UTF-8."""
    for name in ("passes", "triple", "cpu", "features", "clang_options"):
        text = getattr(arguments, name)
        if encodable(text) != text:
            option = name.replace("_", "-")
            raise OptctxError(f"cannot use --{option}: expected UTF-8, found {shown(text)}")
    cpu, features = arguments.cpu, arguments.features
    if cpu == "native":
        cpu = binding.get_host_cpu_name()
        features = features or binding.get_host_cpu_features().flatten()
    return Job(
        ir="",
        passes=arguments.passes,
        triple=arguments.triple,
        cpu=cpu,
        features=features,
        opt_level=arguments.opt_level,
    )


def _jobs(arguments: argparse.Namespace, paths: Sequence[str]) -> list[Job]:
    target = target_job(arguments)
    clang = Clang(arguments.clang, arguments.clang_options)
    return [replace(target, ir=read_input(path, target, clang)) for path in paths]
