"""Compilations under an option, one after the other, in a child that dies of whatever it should not do."""

from __future__ import annotations

import os
import re
import resource
import signal
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn
from unittest.mock import patch

import optctx
from evidence.conformance import job as compiling
from evidence.conformance.job import Job, compile_job
from optctx import OptctxError, OptionContext
from tests.support.seccomp import confine

__all__ = ["Case", "Finding", "findings", "only_forced"]

_KEPT = 4000  # bytes of what a case prints
_SECONDS = 20  # that a case may take
_MEMORY = 4 << 30  # bytes of address space that it may take beyond what the process has
_RECORD = struct.Struct("<IB")  # index of a case, and what is told of it
_BEGUN, _PRINTED = range(2)


@dataclass(frozen=True)
class Case:
    """One compilation, under one option, none (an empty name), or those of the job itself."""

    name: str
    value: str
    job: Job
    own: bool = False  # the job's options
    attribute: bool = False  # the option is an attribute of every function, and not of a scope


# What LLVM says of a loop that it was told to vectorise and cannot, as it does for the metadata of a loop;
# and of a loop whose metadata asks for what it could not do.
_FORCED = re.compile(
    r"remark: \S+ .*(vectoriz|UserVF|loop not distributed).*"
    r"|warning: \S+ .*(unable to perform the requested transformation"
    r"|loop not distributed: failed explicitly specified loop distribution).*"
)


def only_forced(text: str) -> bool:
    """Whether LLVM says nothing but that it cannot transform a loop as it was told to."""
    return all(_FORCED.fullmatch(line) for line in text.splitlines())


@dataclass(frozen=True)
class Finding:
    """What a case did beside compiling. how: prints, reaches outside, dies (with the signal), hangs."""

    case: Case
    how: str
    words: str  # the beginning of what it printed


def findings(cases: Sequence[Case]) -> Iterator[Finding]:
    """Of cases with one option: what any of them does beside compiling, one death of each value."""
    left = list(cases)
    while left:
        seen = _child(left)
        for index, words in seen.printed:
            if index != seen.last or not seen.how:
                yield Finding(left[index], "prints", words)
        last = left[seen.last]
        left = left[seen.last + 1 :]
        if seen.how:
            yield Finding(last, seen.how, seen.words)
            left = [case for case in left if case.value != last.value]  # one death of a value is enough


@dataclass
class _Seen:
    last: int
    how: str
    words: str
    printed: list[tuple[int, str]]


def _child(cases: Sequence[Case]) -> _Seen:
    """Runs the cases until all are done or one is fatal."""
    receive, send = os.pipe()
    streams = os.memfd_create("streams")
    pid = os.fork()
    if pid == 0:
        os.close(receive)
        _work(cases, send, streams)
    os.close(send)
    last, printed, position = 0, [], 0
    with os.fdopen(receive, "rb") as told:
        while record := told.read(_RECORD.size):
            index, what = _RECORD.unpack(record)
            if what == _BEGUN:
                last = index
            else:
                text, position = _new_text(streams, position)
                if not only_forced(text):
                    printed.append((index, text))
    _, status = os.waitpid(pid, 0)
    words, _ = _new_text(streams, position)
    os.close(streams)
    return _Seen(last, _how(os.waitstatus_to_exitcode(status)), words, printed)


def _new_text(streams: int, position: int) -> tuple[str, int]:
    return os.pread(streams, _KEPT, position).decode(errors="replace"), os.fstat(streams).st_size


def _how(code: int) -> str:
    if code == 0:
        return ""
    if code == -signal.SIGALRM:
        return "hangs"
    if code == -signal.SIGSYS:
        return "reaches outside"
    return f"dies of {signal.Signals(-code).name}" if code < 0 else f"exits with {code}"


def _work(cases: Sequence[Case], send: int, streams: int) -> NoReturn:
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        taken = _address_space()
        resource.setrlimit(resource.RLIMIT_AS, (taken + _MEMORY, taken + _MEMORY))
        os.dup2(streams, 1)
        os.dup2(streams, 2)
        confine()
        size = 0
        for index, case in enumerate(cases):
            os.write(send, _RECORD.pack(index, _BEGUN))
            signal.alarm(_SECONDS)
            _compile(case)
            signal.alarm(0)
            now = os.fstat(streams).st_size
            if now != size:
                os.write(send, _RECORD.pack(index, _PRINTED))
            size = now
        os._exit(0)
    finally:
        os._exit(99)


def _compile(case: Case) -> None:
    if case.attribute:
        return _compile_attributed(case)
    try:
        if case.own:
            context = OptionContext.from_args(case.job.options, base="defaults")
        else:
            context = OptionContext({case.name: case.value} if case.name else {}, base="defaults")
    except OptctxError:
        return  # LLVM's parser refuses the value
    with context:
        compile_job(case.job)


def _compile_attributed(case: Case) -> None:
    option = f'"optctx"="-{case.name}={case.value}"'
    text = re.sub(r"(?m)^(define .*) \{$", rf"\1 {option} {{", compiling.source(case.job.path))
    optctx.attach(attributes="error", trust=[case.name])
    with patch.object(compiling, "source", lambda _: text):
        compile_job(case.job)


def _address_space() -> int:
    """Bytes that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
