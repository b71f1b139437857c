"""Compares the stamps of modules in a child process: a damaged or hostile module may crash or hang LLVM."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from llvmlite import binding

from optctx import OptionContext
from optctx.children.answers import Talk
from optctx.children.child import Channel
from optctx.children.death import Death
from optctx.compiling.fresh import llvm_pool
from optctx.errors import OptctxError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.lab.command.inputs import BITCODE
from optctx.links import LinkReport, check_link
from optctx.travelling.stamps import read_stamps

__all__ = ["Question", "compare", "link_step"]


@dataclass(frozen=True)
class Question:
    """The modules to compare."""

    files: tuple[tuple[str, bytes], ...]  # names as they are printed, and contents
    link_options: str | None  # of the link step
    require_stamps: bool


class Reading(msgspec.Struct, tag=True):
    """LLVM begins to read a file."""

    name: str


class Refused(msgspec.Struct, tag=True):
    """The words of an error."""

    error: str


class Compared(msgspec.Struct, tag=True):
    """The end."""

    report: LinkReport


_Said = Reading | Refused | Compared


def compare(question: Question, timeout: float) -> LinkReport:
    """Return the report of `check_link`. Raises OptctxError as it does, and if LLVM crashes or is too slow.

    `timeout`: seconds that LLVM may take for each file, and for the comparison.
    """
    talk: Talk[_Said] = llvm_pool().talk(answer, question, gives=_Said)  # type: ignore[arg-type]
    with talk as child:
        reading = ""
        while True:
            match _heard(child, timeout, reading):
                case Compared(report):
                    return report
                case Reading(name):
                    reading = name
                case Refused(error):
                    raise OptctxError(error)
                case Death() as death:
                    how = (
                        "the process that reads ended" if death.of_machine or not reading else "LLVM crashed"
                    )
                    raise OptctxError(f"cannot read {reading or 'the files'}: {how}: {death}")


def _heard(child: Talk[_Said], timeout: float, reading: str) -> _Said | Death:
    try:
        return child.hear(timeout if reading else None)
    except TimeoutError:
        raise OptctxError(
            f"cannot read {reading}: LLVM took longer than {timeout:g} s and was stopped; "
            "--timeout allows more"
        ) from None


def link_step(options: str) -> OptionContext:
    """The context of the link step. Raises OptctxError for options that LLVM refuses."""
    return OptionContext.from_args(options, base="defaults", process_wide="exclusive")


def answer(_: None, channel: Channel, question: Question) -> None:
    """Say which file is read, before each, and at the end the report, or the text of an error."""
    modules = []
    context = None
    try:
        if question.link_options is not None:
            context = link_step(question.link_options)
        for name, data in question.files:
            channel.send(Reading(name))
            module = _module(name, data)
            read_stamps(llvmlite_image(), module)  # LLVM reads metadata only on demand
            modules.append(module)
        channel.send(Reading("the stamps"))
        report = check_link(modules, context, require_stamps=question.require_stamps)
        channel.send(Compared(report))
    except OptctxError as error:
        channel.send(Refused(str(error)))


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
