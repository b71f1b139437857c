"""Cases in children that the kernel ends as soon as they reach outside, and what became of each."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from optctx.children.messages import address_space
from tests.support.forking import fork
from tests.support.seccomp import confine

C = TypeVar("C")

# What a case may come to: `perform` says which. Anything else is wrong.
FINE = ("compiled", "warned", "refused", "invalid")
_FATAL = ("dies", "exits", "hangs", "reaches")
_LASTING = ("changes", "leaves")  # what the next case of the same child would find
_KEPT = 1500  # bytes of what was printed
_JUDGED = 1 << 24  # and of which it is decided whether it may be printed
# What LLVM says of a loop that it was told to vectorise and cannot, as it does for the metadata of a loop;
# and of a loop whose metadata asks for what it could not do.
_FORCED = re.compile(
    r"remark: \S+ .*(vectoriz|UserVF|loop not distributed).*"
    r"|warning: \S+ .*(unable to perform the requested transformation"
    r"|loop not distributed: failed explicitly specified loop distribution).*"
)
_WAITING = 8  # times the processor time that a case may take: a wait, or a busy machine


@dataclass(frozen=True)
class Limits:
    """Of one case: seconds of processor time; bytes of address space beyond what the process has."""

    seconds: float = 20
    memory: int = 4 << 30


@dataclass(frozen=True)
class Outcome:
    """How a case ended, the beginning of what it printed, and what else `perform` has told."""

    how: str
    printed: str = ""
    told: Any = None

    @property
    def wrong(self) -> bool:
        """No case may end so, unless stock LLVM does."""
        return self.how not in FINE

    @property
    def fatal(self) -> bool:
        """Whether it ended its process."""
        return self.kind in _FATAL

    @property
    def kind(self) -> str:
        """The same for outcomes of one cause: dies, exits, hangs, reaches, prints, raises, changes ..."""
        return self.how.partition(" ")[0]

    def excuses(self, other: Outcome) -> bool:
        """Whether `other` is nothing to wonder at where the same without hostile parts ends like this."""
        return self.kind == other.kind or self.fatal

    def __str__(self) -> str:
        return f"{self.how}; prints {self.printed!r}" if self.printed else self.how


Perform = Callable[[C], "str | tuple[str, Any]"]  # how it ended, and what else is to be told, as JSON has it


def outcomes(cases: Sequence[C], perform: Perform[C], limits: Limits) -> Iterator[Outcome]:
    """Of each case in order. The next one gets a new child after a case that its own did not survive, or that
    has left something there.

    `perform` runs in the child, which may open nothing, map no code and start nothing: this process has to
    have done everything of the sort before.
    """
    done = 0
    while done < len(cases):
        for outcome in _child(cases[done:], perform, limits):
            yield outcome
            done += 1


def _child(cases: Sequence[C], perform: Perform[C], limits: Limits) -> Iterator[Outcome]:
    receive, send = os.pipe()
    streams = os.memfd_create("streams")
    if not (pid := fork()):  # no thread but the pool's, whose locks no case takes
        os.close(receive)
        _work(cases, perform, limits, send, streams)
    os.close(send)
    position, ended, how = 0, 0, ""
    try:
        with os.fdopen(receive) as lines:
            for line in lines:
                how, told, size = json.loads(line)
                ended += 1
                printed = _text(streams, position, size, _JUDGED)
                position = size
                # Whether LLVM says nothing but that it cannot transform a loop as it was told to.
                forced = all(_FORCED.fullmatch(each) for each in printed.splitlines())
                yield Outcome(how if how not in FINE or forced else "prints", printed[:_KEPT], told)
    finally:
        _, status = os.waitpid(pid, 0)
        size = os.fstat(streams).st_size
        printed = _text(streams, position, size)
        os.close(streams)
    if ended < len(cases) and not how.startswith(_LASTING):
        yield Outcome(_how(os.waitstatus_to_exitcode(status)), printed)


def _text(streams: int, begin: int, end: int, most: int = _KEPT) -> str:
    return os.pread(streams, min(end - begin, most), begin).decode(errors="replace")


def _how(code: int) -> str:
    if code in (-signal.SIGPROF, -signal.SIGALRM):
        return "hangs"
    if code == -signal.SIGSYS:
        return "reaches outside"
    return f"dies of {signal.Signals(-code).name}" if code < 0 else f"exits with {code}"


def _work(cases: Sequence[C], perform: Perform[C], limits: Limits, send: int, streams: int) -> NoReturn:
    try:
        faulthandler.disable()  # pytest's, which prints what is an outcome here
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = address_space() + limits.memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        os.dup2(streams, 1)
        os.dup2(streams, 2)
        confine()
        for case in cases:
            signal.setitimer(signal.ITIMER_PROF, limits.seconds)
            signal.setitimer(signal.ITIMER_REAL, _WAITING * limits.seconds)
            try:
                given = perform(case)
            except BaseException as error:  # of Python: no case may raise anything that it does not expect
                given = f"raises {type(error).__name__}: {error}"[:_KEPT]
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            how, told = (given, None) if isinstance(given, str) else given
            line = json.dumps([how, told, os.fstat(streams).st_size]) + "\n"
            os.write(send, line.encode())
            if how.startswith(_LASTING):
                break
        os._exit(0)
    finally:
        os._exit(99)
