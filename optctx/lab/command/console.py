"""What a command prints: text for people through one escape, data for programs, and what LLVM has printed.

`say`, `show` and `complain` keep what a module says on one line that does nothing to a terminal. What
LLVM prints on the descriptor of standard error comes at the end, as complaints.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from optctx.children.death import printed_to
from optctx.errors import EndedEarlyError, Interrupted
from optctx.wording import counted, printable

if TYPE_CHECKING:  # neither `--version` nor an error waits for them
    from rich.console import Console

    from optctx.lab.tables import Table

_LIST = (list, tuple)
_WIDE = 1000  # characters; tables are no wider than they need to be
_LONGEST = 4000  # characters of an error
_LINES = 20  # of LLVM that are repeated
_END = 500  # characters from the end of an error that is cut


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Keep what is written to descriptor 2 in a block from standard error, and complain of it at the end.

    A warning is one line.
    """
    kept, memory = os.dup(2), os.memfd_create("printed")
    os.dup2(memory, 2)
    before, warnings.formatwarning = warnings.formatwarning, _warning
    try:
        with (
            open(kept, "w", 1, errors="backslashreplace", closefd=False) as stderr,
            contextlib.redirect_stderr(stderr),
        ):
            try:
                yield
            finally:
                complain_printed(Counter(filter(str.strip, printed_to(memory).splitlines())))
    finally:
        warnings.formatwarning = before
        os.dup2(kept, 2)
        os.close(memory)
        os.close(kept)


def _warning(message: object, *about: object, **more: object) -> str:
    return f"optctx: warning: {_one_line(str(message))}\n"


def say(*lines: str) -> None:
    """Print lines for a person."""
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def show(table: Table) -> None:
    """Print a table: as wide as the terminal, or with whole lines that have no spaces at their ends."""
    if sys.stdout.isatty():
        _console(sys.stdout).print(table)
        return
    text = io.StringIO()
    _console(text, width=_WIDE).print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def printed(form: str, data: Callable[[], object]) -> bool:
    """Print a result for programs, in ASCII, if `form` is "json" or "csv", and say whether it is."""
    if form == "json":
        sys.stdout.write(json.dumps(msgspec.to_builtins(data()), indent=2) + "\n")
    elif form == "csv":
        _print_csv(msgspec.to_builtins(data()))
    return form != "table"


def _print_csv(data: Any) -> None:
    """Print a line for each entry of the list that the data are, or have, or one for all of them."""
    lists = [
        each for each in (data.values() if isinstance(data, dict) else [data]) if isinstance(each, _LIST)
    ]
    entries = next((each for each in lists if each and all(isinstance(row, dict) for row in each)), [data])
    rows = [dict(_cells("", entry)) for entry in entries if entry]
    columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(sys.stdout, [*columns], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _cells(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the columns of a value: of an object one for each field, "attributes.size"; a list is JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _cells(f"{name}.{key}" if name else key, inner)
    else:
        text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
        yield name, text.encode("ascii", "backslashreplace").decode()


def complain(text: str) -> None:
    """Print one line on standard error, if that is possible. Cuts a text that is longer than a screen."""
    with contextlib.suppress(OSError):
        print(f"optctx: {_one_line(text)}", file=sys.stderr, flush=True)


def complain_printed(printed: Counter[str]) -> None:
    """Print on standard error which lines LLVM printed how often, the most frequent ones first."""
    for line, count in printed.most_common(_LINES):
        complain(f"LLVM printed {counted(count, 'time')}: {line}")
    if len(printed) > _LINES:
        complain(f"LLVM printed {counted(len(printed) - _LINES, 'other line')}")


@contextlib.contextmanager
def progress_bar(what: str = "compiling") -> Iterator[Callable[[int | None], None]]:
    """Show on standard error how much is done, if that is a terminal.

    Yields a function to call after each step, on any thread, with the total number of them if it is known.
    """
    console = _console(sys.stderr)
    if not console.is_terminal:
        yield lambda total: None
        return
    from rich.progress import MofNCompleteColumn, Progress

    with Progress(
        *Progress.get_default_columns(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,  # rich would act on the escapes in what is printed until then
        redirect_stderr=False,
    ) as shown:
        task = shown.add_task(what, total=None)
        yield lambda total: shown.update(task, total=total, advance=1)


@contextlib.contextmanager
def status() -> Iterator[Any]:
    """A function that shows what is under way on standard error, if that is a terminal."""
    console = _console(sys.stderr)
    if not console.is_terminal:
        yield lambda text: None
        return
    from rich.text import Text

    with console.status("") as shown:
        yield lambda text: shown.update(Text(printable(text)))


@contextlib.contextmanager
def partly(show: Callable[[Any], str]) -> Iterator[None]:
    """Have work that ends early print what it has found. `show`: prints that, and says how far it came."""
    try:
        yield
    except Interrupted as interrupt:
        raise KeyboardInterrupt(f"interrupted{show(interrupt.partial)}") from None
    except EndedEarlyError as error:
        if error.partial:
            show(error.partial)
        raise


def _console(stream: TextIO, **more: Any) -> Console:
    from rich.console import Console

    return Console(file=stream, markup=False, emoji=False, highlight=False, **more)


def _one_line(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - _END]} ... {line[-_END:]}"


def reserve_descriptors() -> None:
    """Open the descriptors of closed streams: a file that is opened later would get LLVM's messages."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)


def flush(stream: TextIO) -> None:
    """Flush a stream, or discard text that it cannot write. Python would try again at exit, and report an
    error.
    """
    try:
        stream.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
