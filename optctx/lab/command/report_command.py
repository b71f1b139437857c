"""`optctx report`: a kept experiment again, in any form, without compiling anything."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from optctx.errors import OptctxError
from optctx.lab.command.console import put, say, show
from optctx.lab.command.groups import add_out

if TYPE_CHECKING:
    from optctx.lab.report.kept import KeptStudy

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
    add_out(parser, rows=("top",), top=10)


def run(arguments: argparse.Namespace) -> int:
    """Print the experiment, and write what is asked for. Raises OptctxError and OSError."""
    from optctx.lab.report.kept import read_study

    if arguments.report:
        from optctx.lab.report import check_report

        check_report(arguments.report)
    kept = read_study(arguments.kept)
    if kept.study is None:
        _print_trials(kept, arguments)
        return 0
    from optctx.lab.command.tune_command import print_study

    print_study(kept.study, arguments, kept.source)
    if arguments.report:
        from optctx.lab.report import write_report

        write_report(kept.study, arguments.report, source=kept.source)
    if arguments.optuna:
        from optctx.lab.report.optuna_study import export

        count = export(kept.study, arguments.optuna, "optctx")
        say(f"the study 'optctx' has {count} trials there")
    return 0


def _print_trials(kept: KeptStudy, arguments: argparse.Namespace) -> None:
    """The trials of another experiment than a search."""
    from optctx.lab.report.tables import trials_csv, trials_json, trials_table

    if arguments.report or arguments.optuna:
        flag = "--report" if arguments.report else "--optuna"
        raise OptctxError(
            f"{flag} is for a search, and {arguments.kept} is a {kept.experiment}; leave it out"
        )
    if arguments.format == "table":
        show(trials_table(kept.trials[: arguments.top]))
    else:
        put(*((trials_json(kept.trials),) if arguments.format == "json" else (trials_csv(kept.trials), "")))
