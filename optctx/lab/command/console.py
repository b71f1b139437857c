"""Standard streams, which may be a terminal, a pipe, a file on a full disk, or closed.

While a command runs, `sys.stdout` and `sys.stderr` are doors: all text that passes is for a person, and no
character of it does anything to a terminal. What LLVM prints on the descriptor of standard error comes at
the end, as complaints. A command prints with `say`, `show` and `complain`, which also keep a name from
beginning a line of its own, and with `printed` and `put` what programs read.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO, cast

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from optctx.children.death import printed_to
from optctx.lab.rich_table import Table
from optctx.wording import counted, printable

_WIDE = 1000  # characters; tables are no wider than they need to be
_LONGEST = 4000  # characters of an error
_LINES = 20  # of LLVM that are repeated
_END = 500  # characters from the end of an error that is cut


class _Talk:
    """How much is printed beside the result."""

    quiet = False
    verbose = False


def talk(*, quiet: bool, verbose: bool) -> None:
    """Print results and errors only, or all that LLVM prints, until it is called again."""
    _Talk.quiet, _Talk.verbose = quiet, verbose


class _Door:
    """A standard stream. What is written to it is text for a person, with escapes where `printable` has them.

    `exactly` has the same stream for bytes that programs read, and for the styles of rich.
    """

    def __init__(self, stream: TextIO) -> None:
        self.exactly = stream

    def write(self, text: str) -> int:
        self.exactly.write(_lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exactly, name)


class _Console(Console):
    """A console whose texts are for a person, too, and never markup."""

    def __init__(self, stream: TextIO, **more: Any) -> None:
        super().__init__(file=stream, markup=False, emoji=False, highlight=False, **more)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=_lines(segment.text))


@contextlib.contextmanager
def doors(stdout: TextIO) -> Iterator[None]:
    """Make the standard streams doors for the time of a block, and a warning one line."""
    before = warnings.formatwarning
    warnings.formatwarning = _warning
    printed: Counter[str] = Counter()
    try:
        with (
            _apart(printed) as stderr,
            contextlib.redirect_stdout(cast(TextIO, _Door(stdout))),
            contextlib.redirect_stderr(cast(TextIO, _Door(stderr))),
        ):
            yield
    finally:
        warnings.formatwarning = before
        complain_printed(printed)
        talk(quiet=False, verbose=False)


def _warning(message: object, *about: object, **more: object) -> str:
    return "" if _Talk.quiet else f"optctx: warning: {_one_line(str(message))}\n"


@contextlib.contextmanager
def _apart(printed: Counter[str]) -> Iterator[TextIO]:
    """Collect what is written to descriptor 2, and yield a stream that still goes where it went."""
    flush(sys.stderr)
    kept, memory = os.dup(2), os.memfd_create("printed")
    os.dup2(memory, 2)
    try:
        with open(kept, "w", 1, sys.stderr.encoding, "backslashreplace", closefd=False) as stream:
            yield stream if _descriptor(sys.stderr) == 2 else sys.stderr
    finally:
        os.dup2(kept, 2)
        printed.update(line for line in printed_to(memory).splitlines() if line.strip())
        os.close(memory)
        os.close(kept)


def _descriptor(stream: TextIO) -> int:
    try:
        return stream.fileno()
    except (OSError, ValueError):  # a test's
        return -1


def say(*lines: str) -> None:
    """Print lines for a person."""
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def show(table: Table) -> None:
    """Print a table: as wide as the terminal, or with whole lines that have no spaces at their ends."""
    if sys.stdout.isatty():
        console = _Console(_exactly(sys.stdout))
        console.print(table.fitted(console.width))
        return
    text = io.StringIO()
    _Console(text, width=_WIDE).print(table.fitted())
    _exactly(sys.stdout).write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def put(text: str, end: str = "\n") -> None:
    """Print text that a program reads: exactly, unless it goes to a terminal."""
    stream = sys.stdout if sys.stdout.isatty() else _exactly(sys.stdout)
    stream.write(text + end)


def printed(form: str, data: Callable[[], object]) -> bool:
    """Print a result for programs if `form` is "json", and say whether it is."""
    if form == "json":
        put(json.dumps(msgspec.to_builtins(data()), indent=2))
    return form == "json"


def complain(text: str) -> None:
    """Print one line on standard error, if that is possible. Cuts a text that is longer than a screen."""
    with contextlib.suppress(OSError):
        print(f"optctx: {_one_line(text)}", file=sys.stderr)
    flush(sys.stderr)


def note(text: str) -> None:
    """Print one line on standard error that `--quiet` leaves out."""
    if not _Talk.quiet:
        complain(text)


def complain_printed(printed: Counter[str]) -> None:
    """Print on standard error which lines LLVM printed how often, the most frequent ones first."""
    if _Talk.quiet:
        return
    most = len(printed) if _Talk.verbose else _LINES
    for line, count in printed.most_common(most):
        complain(f"LLVM printed {counted(count, 'time')}: {line}")
    if len(printed) > most:
        complain(f"LLVM printed {counted(len(printed) - most, 'other line')}; -v shows them")


@contextlib.contextmanager
def progress_bar(
    what: str = "compiling", columns: Sequence[ProgressColumn] | None = None
) -> Iterator[Callable[..., None]]:
    """Show on standard error how much is done, if that is a terminal.

    Yields a function to call after each step, on any thread, with the total number of them, and with texts by
    name for `columns`, by default the time left.
    """
    console = _Console(_exactly(sys.stderr))
    if _Talk.quiet or not console.is_terminal:
        yield lambda total, **texts: None
        return
    with Progress(
        TextColumn(what, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        *([TimeRemainingColumn()] if columns is None else columns),
        console=console,
        transient=True,
        redirect_stdout=False,  # rich would act on the escapes in what is printed until then
        redirect_stderr=False,
    ) as shown:
        task = shown.add_task("", total=None, best="")
        yield lambda total, **texts: shown.update(task, total=total, advance=1, **texts)


@contextlib.contextmanager
def status() -> Iterator[Any]:
    """A function that shows what is under way on standard error, if that is a terminal."""
    console = _Console(_exactly(sys.stderr))
    if _Talk.quiet or not console.is_terminal:
        yield lambda text: None
        return
    with console.status("") as shown:
        yield lambda text: shown.update(Text(text))


def _exactly(stream: TextIO) -> TextIO:
    return stream.exactly if isinstance(stream, _Door) else stream


def _lines(text: str) -> str:
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _one_line(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - _END]} ... {line[-_END:]}"


def prepare_streams() -> None:
    """Make any text printable, and reserve the descriptors of closed streams.

    Otherwise a file that is opened later could get such a descriptor, and LLVM could print an error into it.
    `sys.stdin` and `sys.stdout` stay None if they are closed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
    if sys.stderr is None:  # print() would write to standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names can be any bytes


def flush(stream: TextIO) -> None:
    """Flush a stream, or discard text that it cannot write. Python would try again at exit, and report an
    error.
    """
    try:
        stream.flush()
    except OSError:
        if isinstance(stream := _exactly(stream), io.TextIOWrapper):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def encodable(text: str) -> str:
    """The text with escapes for surrogates, which stand for bytes of file names that are not UTF-8."""
    return text.encode(errors="backslashreplace").decode()
