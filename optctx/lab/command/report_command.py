"""Show the trials that --keep has kept, also while they come. Nothing is compiled, and the file does not
change.

optctx report night.journal --report night.html
optctx report night.journal --format csv -o night.csv
"""

from __future__ import annotations

from dataclasses import dataclass

from optctx.errors import OptctxError
from optctx.lab.command.console import note
from optctx.lab.command.groups import Out, out
from optctx.lab.command.rank_command import print_ranking
from optctx.lab.command.sweep_command import print_trials
from optctx.lab.command.tune_command import print_study
from optctx.lab.report import check_report, write_report
from optctx.lab.report.kept import read_kept
from optctx.lab.report.optuna_study import export
from optctx.lab.settings import argument, setting


@dataclass(frozen=True)
class Arguments:
    """What `optctx report` takes."""

    kept: str = argument("a file that --keep has made", metavar="KEPT")
    report: str | None = setting(None, "write a page that needs no network", metavar="FILE.html")
    optuna: str | None = setting(
        None,
        "fill a study in a storage of Optuna's, such as sqlite:///night.db, under the same numbers",
        metavar="STORAGE",
    )
    out: Out = out(rows=("top",))


def run(given: Arguments) -> None:
    """Write what is asked for, and print the experiment. Raises OptctxError and OSError."""
    if given.report:
        check_report(given.report)
    kept = read_kept(given.kept)
    if kept.study is None and (given.report or given.optuna):
        flag = "--report" if given.report else "--optuna"
        raise OptctxError(f"{flag} has nothing to show of {given.kept}: {kept.why}; leave it out")
    if kept.study is not None and given.report:
        title = f"Trials of {kept.source.file}" if kept.trials or kept.ranking else ""
        write_report(kept.study, given.report, source=kept.source, title=title)
    if kept.study is not None and given.optuna:
        count = export(kept.study, given.optuna, "optctx")
        note(f"the study 'optctx' has {count} trials there")
    if kept.ranking is not None:
        print_ranking(kept.ranking, given.out)
    elif kept.trials is not None:
        print_trials(kept.trials, given.out, kept.goal)
    elif kept.study is not None:
        print_study(kept.study, given.out, kept.source)
