"""Compares the stamps of modules in a helper process: a damaged or hostile module may crash or hang LLVM."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from llvmlite import binding

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.fresh.exchange import Exchange
from optctx.fresh.helper import answers_of_helper, is_of_machine, last_words
from optctx.fresh.protocol import encode, received, write_all
from optctx.hosts.llvmlite import llvmlite_image
from optctx.lab.command.inputs import BITCODE
from optctx.links import LinkReport, check_link
from optctx.travelling.stamps import read_stamps

__all__ = ["Question", "compare", "main"]


@dataclass(frozen=True)
class Question:
    """The modules to compare."""

    files: tuple[tuple[str, bytes], ...]  # names as they are printed, and contents
    context: OptionContext | None  # of the link step
    require_stamps: bool


@dataclass(frozen=True)
class _Reading:
    """The message that LLVM begins to read a file."""

    name: str


def compare(question: Question, timeout: float) -> LinkReport:
    """Return the report of `check_link`. Raises OptctxError as it does, and if LLVM crashes or is too slow.

    `timeout`: seconds that LLVM may take for each file, and for the comparison.
    """
    with Exchange("optctx.lab.command.link_reader") as helper:
        with suppress(BrokenPipeError):  # it has ended, which the report says
            helper.send(question)
        return _report(helper, timeout)


def _report(helper: Exchange, timeout: float) -> LinkReport:
    reading = ""
    while messages := _received(helper, timeout, reading):
        for message in messages:
            match message:
                case LinkReport():
                    return message
                case _Reading():
                    reading = message.name
                case _:
                    raise OptctxError(message)
    status, printed = helper.ended()
    end = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    words = last_words(printed) or end
    how = "LLVM crashed" if reading and not is_of_machine(words) else "the process that reads ended"
    raise OptctxError(f"cannot read {reading or 'the files'}: {how}: {words}")


def _received(helper: Exchange, timeout: float, reading: str) -> list[object]:
    try:
        return helper.receive(timeout if reading else None)
    except TimeoutError:
        raise OptctxError(
            f"cannot read {reading}: LLVM took longer than {timeout:g} s and was stopped; "
            "--timeout allows more"
        ) from None


def main() -> int:
    """Answer one question from standard input on the original standard output. No other code writes there."""
    answers = answers_of_helper()
    for message in _answers(_question()):
        write_all(answers, encode(message))
    return 0


def _question() -> Question:
    for message in received(0):
        assert isinstance(message, Question)
        return message
    raise EOFError


def _answers(question: Question) -> Iterable[object]:
    """Yield a message before each file is read, and at the end the report, or the text of an error."""
    modules = []
    try:
        for name, data in question.files:
            yield _Reading(name)
            module = _module(name, data)
            read_stamps(llvmlite_image(), module)  # LLVM reads metadata only on demand
            modules.append(module)
        yield _Reading("the stamps")
        yield check_link(modules, question.context, require_stamps=question.require_stamps)
    except OptctxError as error:
        yield str(error)


def _module(name: str, data: bytes) -> binding.ModuleRef:
    """Parse the module in a file, and name it after the file."""
    try:
        if data.startswith(BITCODE):
            module = binding.parse_bitcode(data)
        else:
            module = binding.parse_assembly(data.decode())
    except UnicodeDecodeError:
        raise OptctxError(f"cannot read {name}: expected LLVM bitcode or IR as text, found neither") from None
    except RuntimeError as error:
        raise OptctxError(f"cannot read {name}: {error}") from None
    module.name = name
    return module
