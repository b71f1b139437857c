"""Cases in a child process, so that an exit, a signal, a hang and anything that is printed are seen."""

from __future__ import annotations

import os
import pickle
import resource
import selectors
import shutil
import signal
import struct
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from typing import NoReturn

from tests.long.fuzz.case import Case, Report, perform
from tests.long.fuzz.confined import address_space

__all__ = ["Seen", "Watched"]

_LENGTH = struct.Struct("<I")
_STATES_EVERY = 50  # cases between looks at every process-wide value, which take as long as 50 cases
_MEMORY = 8 << 30  # bytes that a case may add
_KEPT = 2000  # characters of what was printed


@dataclass(frozen=True)
class Seen:
    """What became of a case: a report, or the stage that it did not survive and how; what it printed."""

    report: Report | None
    stage: str
    ended: str = ""
    printed: str = ""


class Watched:
    """Runs cases one after the other in a child, forked from this process with optctx attached.

    After a death the next case gets a new child. A context manager.
    """

    _data: bytes
    _selector: selectors.DefaultSelector

    def __init__(self, seconds: float) -> None:
        """`seconds`: that a case may take."""
        self._seconds = seconds
        self._pid = 0
        self._done = 0

    def __enter__(self) -> Watched:
        self._folder = tempfile.mkdtemp(prefix="fuzz-")
        return self

    def __exit__(self, *_: object) -> None:
        self.restart()
        shutil.rmtree(self._folder)

    @property
    def fresh(self) -> bool:
        """No case has run in the child yet."""
        return not self._done

    def restart(self) -> None:
        """The next case runs in a new child."""
        if not self._pid:
            return
        os.kill(self._pid, signal.SIGKILL)
        self._reap()

    def run(self, case: Case, *, thoroughly: bool = False) -> Seen:
        """`thoroughly`: compares every process-wide value before and after, as happens now and then."""
        if not self._pid:
            self._start()
        self._done += 1
        thoroughly = thoroughly or self._done % _STATES_EVERY == 0
        _send(self._to, pickle.dumps((case, thoroughly)))
        stage, deadline = "starting", time.monotonic() + self._seconds
        while True:
            answer = self._receive(deadline)
            if isinstance(answer, Report):
                return Seen(answer, stage, "", self._printed())
            if not isinstance(answer, str):
                break
            stage = answer
        late = time.monotonic() >= deadline
        if late:
            os.kill(self._pid, signal.SIGKILL)
        status = self._reap()
        how = signal.Signals(-status).name if status < 0 else f"an exit with status {status}"
        return Seen(None, stage, f"a hang of {self._seconds:g} s" if late else how, self._printed())

    def _receive(self, deadline: float) -> object:
        """The child's next answer; None if it ended or did not answer in time."""
        while len(self._data) < _LENGTH.size or len(self._data) < self._needed():
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                return None
            read = os.read(self._from, 1 << 16)
            if not read:
                return None
            self._data += read
        needed = self._needed()
        answer: object = pickle.loads(self._data[_LENGTH.size : needed])
        self._data = self._data[needed:]
        return answer

    def _needed(self) -> int:
        return _LENGTH.size + int(_LENGTH.unpack_from(self._data)[0])

    def _start(self) -> None:
        requests, self._to = os.pipe()
        self._from, answers = os.pipe()
        self._streams = os.memfd_create("streams")
        self._read, self._done, self._data = 0, 0, b""
        with warnings.catch_warnings():  # from Python 3.12 on, of threads: those of FreshProcess only read
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if not self._pid:
            os.close(self._to)
            os.close(self._from)
            _serve(self._folder, requests, answers, self._streams)
        os.close(requests)
        os.close(answers)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._from, selectors.EVENT_READ)

    def _printed(self) -> str:
        """What came since the last call."""
        size = os.fstat(self._streams).st_size
        said = os.pread(self._streams, _KEPT, self._read)
        self._read = size
        if not self._pid:
            os.close(self._streams)
        return said.decode(errors="replace")

    def _reap(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        self._selector.close()
        os.close(self._to)
        os.close(self._from)
        return os.waitstatus_to_exitcode(status)


def _serve(folder: str, requests: int, answers: int, streams: int) -> NoReturn:
    """The child: works until it is killed, or dies of a case."""

    def tell(stage: str) -> None:
        _send(answers, pickle.dumps(stage))

    try:
        sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
        os.chdir(folder)  # some options write files
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = address_space() + _MEMORY  # a sanitizer reserves terabytes before
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(streams, 1)
        os.dup2(streams, 2)
        while True:
            (length,) = _LENGTH.unpack(_exactly(requests, _LENGTH.size))
            case, thoroughly = pickle.loads(_exactly(requests, length))
            report = perform(case, tell, thoroughly=thoroughly)
            _send(answers, pickle.dumps(report))
    finally:
        os._exit(99)


def _send(descriptor: int, body: bytes) -> None:
    data = _LENGTH.pack(len(body)) + body
    while data:
        data = data[os.write(descriptor, data) :]


def _exactly(descriptor: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        read = os.read(descriptor, count - len(data))
        if not read:
            os._exit(0)  # the parent is gone
        data += read
    return data
