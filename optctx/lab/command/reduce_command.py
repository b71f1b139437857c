"""Leave out options of the base, and move their values towards the defaults, for as long as the compilation
fails in the same way: it crashes with the same last words, hangs, or is refused. A try hangs if it still runs
after ten times --timeout. Each try is in a fresh process. Exit status 2 if there is nothing to reduce and for
bad input, 130 after Ctrl-C.

    optctx reduce kernel.ll --set force-vector-width=999999 --set enable-gvn-hoist
    optctx reduce kernel.ll --load best.toml --command './still-wrong.sh {object}'
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from optctx.errors import OptctxError
from optctx.lab.command.console import partly, printed, say, status
from optctx.lab.command.groups import Base, File, Input, Out
from optctx.lab.command.inputs import clang_words
from optctx.lab.outcome import Limits
from optctx.lab.reduce import Reduced, reduce_options
from optctx.lab.repeat import Source, shell_lines, shown_lines
from optctx.lab.settings import group, setting


@dataclass(frozen=True)
class Arguments(File):
    """What `optctx reduce` takes."""

    command: str | None = setting(
        None,
        "keep what this program exits with status 0 for, instead of a failure; '{object}' stands for the "
        "path of the object",
        metavar="'PROGRAM {object}'",
    )
    input: Input = group(Input)
    base: Base = group(Base)
    limits: Limits = group(Limits)
    out: Out = group(Out)


def run(given: Arguments) -> None:
    """Reduce, and print the options; after Ctrl-C those found so far. Raises OptctxError and OSError."""
    options = tuple(given.base.context(given.input.image).args())
    if not options:
        raise OptctxError("nothing to reduce: give the options with --set or --load")
    read = given.input.under(given.base)
    job = replace(read.job(given.file), options=options)
    source = Source(given.file, job, clang=clang_words(read.clang))

    def so_far(found: Reduced) -> str:
        _print(found, source, given.out.format)
        return "; these are the fewest options so far"

    with partly(so_far), status() as tell:
        found = reduce_options(job, given.command, limits=given.limits, progress=tell)
    _print(found, source, given.out.format)


def _print(found: Reduced, source: Source, form: str) -> None:
    options, failure = found.job.options, found.failure
    lines = shell_lines(options, source)
    data = {
        "options": options,
        "given": found.given,
        "compilations": found.compilations,
        "failure": failure,
        "commands": lines,
    }
    if printed(form, lambda: data):
        return
    if failure is not None:
        say(str(failure))
    say(
        f"{len(options)} of {found.given} options, after {found.compilations} compilations",
        shlex.join(options) or "without any option",
        *shown_lines(lines),
    )
