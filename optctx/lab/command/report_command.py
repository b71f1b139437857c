"""`optctx report`: a kept experiment again, in any form, without compiling anything."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from optctx.errors import OptctxError
from optctx.lab.command.console import say
from optctx.lab.command.groups import Out, add_out
from optctx.lab.settings import taken

if TYPE_CHECKING:
    from optctx.lab.report.kept import KeptExperiment

__all__ = ["add", "run"]


DESCRIPTION = (
    "Show the trials that --keep has kept, also while they come. Nothing is compiled, and "
    "the file does not change."
)
EXAMPLE = (
    "optctx report night.journal --report night.html\noptctx report night.journal --format csv -o night.csv"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("kept", metavar="KEPT", help="a file that --keep has made")
    parser.add_argument("--report", metavar="FILE.html", help="write a page that needs no network")
    parser.add_argument(
        "--optuna",
        metavar="STORAGE",
        help="fill a study in a storage of Optuna's, such as sqlite:///night.db, under the same numbers",
    )
    add_out(parser, rows=("top",))


def run(arguments: argparse.Namespace) -> int:
    """Print the experiment, and write what is asked for. Raises OptctxError and OSError."""
    from optctx.lab.report.kept import read_kept

    if arguments.report:
        from optctx.lab.report import check_report

        check_report(arguments.report)
    kept = read_kept(arguments.kept)
    if kept.study is None and (arguments.report or arguments.optuna):
        flag = "--report" if arguments.report else "--optuna"
        raise OptctxError(f"{flag} has nothing to show of {arguments.kept}: {kept.why}; leave it out")
    _print(kept, taken(arguments, Out))
    if kept.study is not None and arguments.report:
        from optctx.lab.report import write_report

        title = f"Trials of {kept.source.file}" if kept.trials or kept.ranking else ""
        write_report(kept.study, arguments.report, source=kept.source, title=title)
    if kept.study is not None and arguments.optuna:
        from optctx.lab.report.optuna_study import export

        count = export(kept.study, arguments.optuna, "optctx")
        say(f"the study 'optctx' has {count} trials there")
    return 0


def _print(kept: KeptExperiment, out: Out) -> None:
    """As the command prints it that has made the file."""
    if kept.ranking is not None:
        from optctx.lab.command.rank_command import print_ranking

        print_ranking(kept.ranking, out)
    elif kept.trials is not None:
        from optctx.lab.command.sweep_command import print_trials

        print_trials(kept.trials, out, kept.goal)
    elif kept.study is not None:
        from optctx.lab.command.tune_command import print_study

        print_study(kept.study, out, kept.source)
