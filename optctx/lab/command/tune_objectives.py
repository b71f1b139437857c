"""What `optctx tune` is to search by, and what it calls to measure."""

from __future__ import annotations

import os
from collections.abc import Sequence

from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.command.console import put
from optctx.lab.timing import Harness, Measuring, NoHarnessError, find_harness
from optctx.lab.tuning import Objective
from optctx.lab.tuning.measured import objective_named

__all__ = ["goals_of", "objectives_of"]

_CALLED = ("time", "callgrind")


def goals_of(texts: Sequence[str], measuring: Measuring) -> list[str]:
    """The goals; [] where a harness, or its lack, decides. Judges everything but harnesses.

    Raises OptctxError for a name that is none, and for the goal `command` without one.
    """
    for text in texts:
        if text.partition(":")[0] == "command" and not measuring.command:
            words = "the goal 'command' needs a command that prints a number: --command 'PROGRAM {object}'"
            raise OptctxError(words)
        objective_named(text, command=measuring.command)
    if not texts and measuring.command:
        return ["command"]
    return list(texts)


def objectives_of(
    goals: Sequence[str], measuring: Measuring, file: str, job: Job, *, helping: bool
) -> tuple[list[Objective], str]:
    """The objectives for a module. Without goals it is run time where a harness or an entry is named or is
    beside the file, and size otherwise: nothing is called that no one has described.

    The second result is for the end of a search by size, if `helping`: a harness to fill in. Raises
    OptctxError for a harness that does not call what the module has; one to fill in is printed before.
    """
    beside = file != "-" and os.path.exists(f"{os.path.splitext(file)[0]}.toml")
    if not goals and (measuring.harness or measuring.entry or beside):
        goals = ["time"]
    called = any(goal.partition(":")[0] in _CALLED for goal in goals)
    harness, hint = Harness("main"), ""
    if called or (helping and not goals):
        try:
            harness = find_harness(measuring, file, job)
        except NoHarnessError as error:
            if called:
                put(error.text, end="")
                raise
            hint = f"to search by run time, fill in this harness and save it as {error.path}:\n{error.text}"
        except OptctxError:
            if called:
                raise

    settings = {
        "harness": harness,
        "tolerance": measuring.tolerance,
        "processor": measuring.processor,
        "seconds": measuring.measure_seconds,
        "command": measuring.command,
    }
    return [objective_named(text, **settings) for text in goals or ["size"]], hint
