"""`sweep`: compiles a module under every combination of option values, even if LLVM crashes or hangs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice

from optctx.compiling import Job
from optctx.errors import EndedEarlyError, Interrupted, OptctxError
from optctx.lab.experiment import BASE, Experiment, Options, make_plan
from optctx.lab.outcome import Answer, Limits, trial_of
from optctx.lab.space import DEFAULT, overrides_of, parse_space
from optctx.lab.trial import Trial, goal_named

# Each takes 10 KB and some milliseconds: in total a gigabyte, and minutes to hours.
MOST_TRIALS = 100_000


def sweep(
    job: Job,
    space: Sequence[str],
    *,
    by: str = "size",
    verify: bool = False,
    baseline: bool = False,
    limits: Limits = Limits(),  # noqa: B008  frozen
    on_trial: Callable[[Trial, int], None] = lambda trial, total: None,
    printed: Counter[str] | None = None,
) -> list[Trial]:
    """Compile a job to objects under every combination of option values.

    The combinations are compiled on threads of one worker process, each inside an OptionContext of its own.
    If the worker dies, each combination that it was compiling is compiled again in a process of its own, and
    another worker continues with the rest. So a crash or a hang appears only in the trial of the combination
    that caused it. No code outside the worker sees an option change.

    Options that are not of the space have the values that the calling thread sees now. Function attributes
    count as they do in this process.

    Args:
        job: What to compile. Its `options` and `emit` are ignored.
        space: The options to vary, such as `["unroll-count=1,2,4"]`.
        by: What trials are compared by: "size" (bytes of the object), "instructions" (of IR) or
            "compile-time" (seconds), with ":max" if larger is better.
        verify: Compile each combination once more in a fresh process with process-wide options, and compare.
            That happens in batches, so it does not disturb the times of the trials. Combinations that timed
            out are not verified. If a fresh process cannot compile, the trial's `difference` says why, and
            its `agrees` stays None.
        baseline: Begin with a trial in which no option of the space is set. Its number is -1.
        limits: What compilations may take, and how many run at once.
        on_trial: Called on this thread with each trial as it ends, and with how many there will be. The
            baseline is left out.
        printed: Counts each line that LLVM prints, except in combinations that crash or time out.

    Returns:
        The trials by their number, which is the place in the grid.

    Raises:
        OptctxError: There are more than 100,000 combinations; several settings are refused; or LLVM refuses
            the module, the pipeline or the target. Nothing was compiled.
        UnknownOptionError, OptionValueError, ProcessWideOptionError: One setting is refused. Nothing was
            compiled.
        Interrupted: Ctrl-C, a KeyboardInterrupt. Its `partial` has the trials that have ended.
        EndedEarlyError: The helper process is killed; also with a `partial`.
    """
    varied, goal = parse_space(space, job.image), goal_named(by)
    if varied.count > MOST_TRIALS:
        raise OptctxError(
            f"cannot compile {varied.count:,} combinations, the limit is {MOST_TRIALS:,}; give fewer values"
        )
    grid, ended = varied.points(), dict[int, Trial]()
    waiting = iter(enumerate(grid))

    def more(count: int) -> list[tuple[int, Options]]:
        return [(number, overrides_of(point)) for number, point in islice(waiting, count)]

    def made(answer: Answer) -> Trial:
        if printed is not None:
            printed.update(answer.printed)
        return trial_of(answer, grid[answer.number], goal)

    def found() -> list[Trial]:
        return [ended[number] for number in sorted(ended)]

    with Experiment(make_plan(job, limits)) as experiment:
        try:
            base = experiment.compile_base()
            if baseline:
                ended[BASE] = trial_of(base, dict.fromkeys(varied.names, DEFAULT), goal)
            with closing((experiment.verified if verify else experiment.all)(more, made)) as trials:
                for trial in trials:
                    ended[trial.number] = trial
                    on_trial(trial, len(grid))
        except KeyboardInterrupt:
            raise Interrupted(found()) from None
        except EndedEarlyError as error:
            error.partial = found()
            raise
    return found()
