"""What `optctx tune` is to search by, and what it calls to measure."""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import TYPE_CHECKING

import msgspec

from optctx.errors import OptctxError

if TYPE_CHECKING:
    from optctx.compiling import Job
    from optctx.lab.timing import Harness
    from optctx.lab.tuning import Objective

__all__ = ["fitted", "objectives_of"]


def objectives_of(arguments: argparse.Namespace) -> list[Objective]:
    """Raises OptctxError for a name that is none, and for what an objective needs and does not have."""
    from optctx.lab.timing import Tolerance
    from optctx.lab.tuning import Callgrind, Command, RunTime, objective_named

    def make(name: str) -> Objective:
        if name == "command":
            if not arguments.command:
                raise OptctxError(
                    "the objective 'command' needs a command that prints a number: "
                    "--command 'PROGRAM {object}'"
                )
            return Command(command=arguments.command)
        harness, allowed = (
            _harness(arguments, name),
            Tolerance(arguments.tolerance, arguments.absolute_tolerance),
        )
        if name == "callgrind":
            return Callgrind(harness=harness, tolerance=allowed)
        return RunTime(
            harness=harness,
            tolerance=allowed,
            processor=arguments.processor,
            seconds=arguments.measure_seconds,
        )

    return [objective_named(text, make) for text in arguments.objectives or ["size"]]


def _harness(arguments: argparse.Namespace, objective: str) -> Harness:
    """That of a file; else one without arguments, which `fitted` replaces when the module is known."""
    from optctx.lab.timing import Harness

    path, beside = _harness_files(arguments)
    if path is not None:
        harness = Harness.from_toml(path)
        return msgspec.structs.replace(harness, entry=arguments.entry) if arguments.entry else harness
    if not arguments.entry:
        raise OptctxError(
            f"the objective {objective!r} calls a function: name it with --entry, and what it is called "
            f"with in {beside}{'' if arguments.file == '-' else ' (or --harness FILE)'}"
        )
    return Harness(arguments.entry)


def _harness_files(arguments: argparse.Namespace) -> tuple[str | None, str]:
    """The file with the harness, if there is one, and where it is looked for, as messages have it."""
    if arguments.file == "-":
        return arguments.harness, "a file for --harness"
    beside = f"{os.path.splitext(arguments.file)[0]}.toml"
    return arguments.harness or (beside if os.path.exists(beside) else None), beside


def fitted(objective: Objective, job: Job, arguments: argparse.Namespace) -> Objective:
    """The objective for this module. Raises OptctxError if its harness does not call what the module has."""
    from optctx.lab.timing import Harness
    from optctx.lab.tuning import Callgrind, RunTime

    if not isinstance(objective, RunTime | Callgrind):
        return objective
    path, beside = _harness_files(arguments)
    if path is None:
        harness = Harness.of_function(arguments.entry, job.ir, file=beside)
        return dataclasses.replace(objective, harness=harness)
    objective.harness.check(job.ir)
    return objective
