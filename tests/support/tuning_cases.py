"""What the tests of tuning share: modules, searches, and what is kept of them."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from optctx.compiling import Job
from optctx.lab.outcome import Limits
from optctx.lab.space import Space, parse_space
from optctx.lab.timing import Kernel, find_kernel, harness_of
from optctx.lab.tuning import Command, RunTime, Search, Tuned, tune
from tests.support.ir_texts import SCALE

TINY = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n"
JOB = Job(SCALE, "default<O2>")


def loops() -> Space:
    """Two options that matter to SCALE."""
    return parse_space(["unroll-count=1..8", "force-vector-width=1,2,4"])


def told(study: Tuned) -> list[tuple[Any, ...]]:
    """Everything of the trials but times."""
    return [(trial.number, dict(trial.options), trial.state, trial.figure) for trial in study.trials]


def tuned(job: Job, space: Space, by: str | RunTime | Command = "size", **settings: Any) -> Tuned:
    """What a search finds, whose settings are given one by one."""

    def taken(record: type[Any]) -> Any:
        names = [field.name for field in dataclasses.fields(record) if field.name in settings]
        return record(**{name: settings.pop(name) for name in names})

    return tune(job, space, by, taken(Search), limits=taken(Limits), **settings)


# Sums of floats come out otherwise where vectors add them in another order.
SUM = """
define float @sum(ptr %array, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %sum = phi float [0.0, %entry], [%more, %loop]
  %element = getelementptr float, ptr %array, i64 %i
  %value = load float, ptr %element
  %more = fadd fast float %sum, %value
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, %n
  br i1 %again, label %loop, label %done
done:
  ret float %more
}
"""
KERNEL = Job(SUM, "default<O2>")
HARNESS = """
import random
from array import array

def arguments():
    draw = random.Random(3)
    return array("f", [draw.random() for _ in range(1000)]), 1000
"""
LOOSE = "tolerance = 1e-3\n"


def sum_of_floats(folder: pathlib.Path, more: str = LOOSE, seconds: float = 0.1) -> Kernel:
    """KERNEL's function, with a harness beside it."""
    file = folder / "sum_harness.py"
    file.write_text(f"{HARNESS}{more}seconds = {seconds}\n")
    return find_kernel(KERNEL, harness_of(str(file)), "sum.ll")


def kept(file: pathlib.Path, name: str = "optctx") -> int:
    """Trials that have ended, in a study of Optuna's in a file."""
    storage = JournalStorage(JournalFileBackend(str(file)))
    if name not in optuna.get_all_study_names(storage):  # not made yet
        return 0
    study = optuna.load_study(study_name=name, storage=storage)
    return len(study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED)))
