"""What became of each compilation of an experiment, what they are compared by, and the file that keeps them.

The file has JSON lines: first what the experiment is one of, then each trial as it ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import IO, Any, Literal

from optctx.children.death import End
from optctx.children.messages import write_all
from optctx.compiling import Image, Job
from optctx.compiling.facts import build_id
from optctx.errors import EndedEarlyError, OptctxError, shown

_FORMAT = 5

Direction = Literal["minimise", "maximise"]
_DIRECTIONS: dict[str, Direction] = {"": "minimise", "min": "minimise", "max": "maximise"}
# What every compilation gives, and what it counts.
FIGURES = {"size": "object bytes", "instructions": "IR instructions", "compile-time": "seconds"}


@dataclass(frozen=True)
class Trial:
    """One set of option values, and what became of it. Plain data.

    `number` counts from 0 in the order of the experiment; a base is below that. `options` are those that
    count for it, with the texts of their values; "default" leaves one alone. `figure` is what it is compared
    by; None unless `state` is "ok". `seconds` is the wall time of its compilation while others compile too;
    what equals one of before counts with the time of then. `error`: the last line that LLVM printed, or how
    the process ended. `attributes`: what else is known, of JSON's types: the `digest` of the object (SHA-256
    in hexadecimal), its `size` in bytes, the `instructions` of the IR after the passes; of run times their
    intervals. `agrees`: whether a fresh process gives the same, byte for byte; None if that was not compared.
    `difference`: what it gave instead, or why it could not be compared.
    """

    number: int
    options: Mapping[str, str]
    state: End
    figure: float | None = None
    seconds: float = 0.0
    error: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    agrees: bool | None = None
    difference: str = ""

    @property
    def died(self) -> bool:
        """Whether the process that compiled it ended without an answer, and not for being late."""
        return self.state not in ("ok", "failed", "timed out", "wrong result")

    @property
    def digest(self) -> str:
        """SHA-256 of the object; "" if there is none."""
        return str(self.attributes.get("digest", ""))


@dataclass(frozen=True)
class Goal:
    """What trials are compared by: its name, what its figures count, and which ones are better."""

    name: str
    unit: str
    direction: Direction = "minimise"
    confirmed: bool = False  # whether the best figure counts only after a second check

    @property
    def sign(self) -> int:
        """What figures are multiplied by so that less is better."""
        return 1 if self.direction == "minimise" else -1

    def better(self, one: Trial, other: Trial | None) -> bool:
        """Whether `one` has a figure, and `other` has none or a worse one."""
        if one.figure is None or other is None or other.figure is None:
            return one.figure is not None
        return self.sign * one.figure < self.sign * other.figure

    def best_of(self, trials: Sequence[Trial], base: Trial | None = None) -> Trial | None:
        """The first of the trials with the best figure, if that is better than the base's."""
        best = base
        for trial in trials:
            if self.better(trial, best):
                best = trial
        return None if best is base else best


def goal_named(text: str) -> Goal:
    """A figure of a compilation, from "size" or "instructions:max". Raises OptctxError for another text."""
    name, _, _ = text.partition(":")
    if name not in FIGURES:
        raise OptctxError(f"expected a goal of {', '.join(FIGURES)}, found {shown(name)}")
    return Goal(name, FIGURES[name], direction_of(text))


def direction_of(text: str) -> Direction:
    """Of a goal such as "size:max". Raises OptctxError for what is behind the colon."""
    name, colon, direction = text.partition(":")
    if direction not in _DIRECTIONS or (colon and not direction):
        raise OptctxError(f"expected {name}:min or {name}:max, found {shown(text)}")
    return _DIRECTIONS[direction]


# What an experiment is one of: it goes on only with the same.


def identity_of(
    experiment: str,
    job: Job,
    base: tuple[tuple[str, ...], tuple[str, ...]],
    **more: Any,
) -> dict[str, Any]:
    """Name the parts of an experiment, of JSON's types: "format" and "experiment" first.

    `base`: the arguments that all its compilations have, and how function attributes count. `more`: further
    parts.
    """
    return {
        "format": _FORMAT,
        "experiment": experiment,
        "input": _digest(job.ir),
        "passes": job.passes,
        "target": list(job.target.values()),
        "base": [list(base[0]), list(base[1])],
        "versions": versions(job.image),
        **more,
    }


def check_identity(
    own: Mapping[str, Any], other: Mapping[str, Any], where: str, remedy: str = "name another file"
) -> None:
    """Raise OptctxError, which names the parts, if what a file or study says is not what an experiment is."""
    changed = [name for name in {**own, **other} if own.get(name) != other.get(name)]
    if changed:
        names = " and ".join(name[:40] for name in changed[:10])
        raise OptctxError(
            f"cannot resume from {where}: its trials differ in {names}; repeat its arguments, or {remedy}"
        )


def _digest(ir: str | bytes) -> str:
    # A text that is no Unicode is refused where it goes to another process.
    data = ir if isinstance(ir, bytes) else ir.encode(errors="surrogatepass")
    return hashlib.sha256(data).hexdigest()


def versions(image: Image | None) -> dict[str, str]:
    """Of what the figures of an experiment come from."""
    return {"optctx": version("optctx"), "llvmlite": version("llvmlite"), "LLVM": build_id(image)}


class Trials:
    """The trials of an experiment, by number, and the file that keeps each if there is one.

    A trial is in the file when `append` returns, in one line. A process can be killed at any moment: what it
    leaves of a line is dropped when the file is opened again.
    """

    def __init__(self, file: IO[bytes] | None = None, head: bytes = b"") -> None:
        self._file, self._head = file, head
        self.ended: dict[int, Trial] = {}

    def append(self, trial: Trial) -> None:
        """Keep a trial that has ended. Raises EndedEarlyError if the file takes no more."""
        if self._file is not None:
            try:
                write_all(self._file.fileno(), self._head + _line(asdict(trial)))
            except OSError as error:
                has = f"it has {len(self.ended):,} trials to go on with"
                raise EndedEarlyError(
                    f"cannot write to {shown(self._file.name)}: {error.strerror}; {has}"
                ) from None
            self._head = b""
        self.ended[trial.number] = trial


@contextmanager
def open_trials(path: str | None, identity: Mapping[str, Any]) -> Iterator[Trials]:
    """Open the file of an experiment for this process alone. Yields the trials that it has, to add more.

    Without a path, trials are in memory alone. Nothing is written before the first trial.

    Raises OptctxError for a file of another experiment, or of something else; for one that another process
    writes to; and for one that cannot be used.
    """
    if path is None:
        yield Trials()
        return
    with _opened(path) as file:
        data, head = file.read(), _line(identity)
        whole = data.rfind(b"\n") + 1  # a kill may have cut the last line
        trials = Trials(file, b"" if whole else head)
        try:
            if not whole and not head.startswith(data):
                raise ValueError
            own, *kept = map(json.loads, data[:whole].splitlines() or [head])
            check_identity(identity, own, shown(path))
            trials.ended = {each["number"]: Trial(**each) for each in kept}
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            raise OptctxError(
                f"cannot resume from {shown(path)}: it is no file of trials of optctx; name another file"
            ) from None
        file.truncate(whole)
        yield trials


def _opened(path: str) -> IO[bytes]:
    """Open a file at its beginning, to append, and lock it. Raises OptctxError."""
    file: IO[bytes] | None = None
    try:
        file = open(path, "ab+", buffering=0)  # noqa: SIM115  the caller closes it
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.seek(0)  # raises for a pipe
        return file
    except BlockingIOError:
        why = "another process is writing to it"
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if file is not None:
        file.close()
    raise OptctxError(f"cannot keep trials in {shown(path)}: {why}")


def _line(record: Any) -> bytes:
    # Not with msgspec, which refuses bytes of file names that are not UTF-8, which LLVM may have printed.
    return json.dumps(record).encode() + b"\n"
