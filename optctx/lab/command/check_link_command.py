"""`optctx check-link`: checks that modules were compiled with the same options.

A damaged or hostile module may crash or hang LLVM: modules are read and compared in children.
"""

from __future__ import annotations

import argparse

import msgspec
from llvmlite import binding

from optctx import LinkReport, OptionContext, attach, check_link
from optctx.children.limits import Limits
from optctx.children.pool import Pool
from optctx.errors import OptctxError
from optctx.lab.command.console import encodable, printed, say, show
from optctx.lab.command.files import read_file
from optctx.lab.command.groups import add_out
from optctx.lab.command.inputs import BITCODE, answered
from optctx.lab.settings import completing, seconds
from optctx.tables import table

__all__ = ["add", "print_report", "run"]

File = tuple[str, bytes]  # its name as it is printed, and what it holds


DESCRIPTION = (
    "Compare the options that optctx.stamp wrote into modules, before or after they are "
    "linked. Exit status 1 if any option differs, 2 for bad input."
)
EXAMPLE = "optctx check-link a.bc b.bc --link-options='-unroll-count=4'"


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    completing(parser.add_argument("files", nargs="+", metavar="FILE", help="bitcode or LLVM IR"), "file")
    parser.add_argument(
        "--link-options",
        metavar="ARGS",
        help="options of the link step, to compare as well: --link-options='-unroll-count=4 -stats'",
    )
    parser.add_argument(
        "--require-stamps", action="store_true", help="exit status 1 also for a file without a stamp"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="S",
        help="seconds that LLVM may take for one file (%(default)g)",
    )
    add_out(parser, "table", "json")


def run(arguments: argparse.Namespace) -> int:
    """Print the options that differ. Returns 1 if there are any. Raises OptctxError and OSError."""
    if arguments.link_options is not None:  # refused here, before any file is read
        _link_step(arguments.link_options)
    files = [(encodable(path), read_file(path, "LLVM bitcode or IR")) for path in arguments.files]
    report = _report(files, arguments)
    print_report(report, arguments.format)
    return 1 if report else 0


def print_report(report: LinkReport, form: str) -> None:
    """Print a report as JSON or for people."""
    if printed(form, lambda: {"consistent": not report, **msgspec.to_builtins(report)}):
        return
    if report.mismatches:
        show(table(("option", "value", "in"), report.rows()))
    say(*(f"{module}: no stamp" for module in report.unstamped), report.summary())


def _report(files: list[File], arguments: argparse.Namespace) -> LinkReport:
    """The report of `check_link`, after each file has been read alone: so the one at fault is known.

    Raises OptctxError as it does, and if LLVM crashes or is too slow.
    """
    link, required, limit = arguments.link_options, arguments.require_stamps, arguments.timeout
    with Pool(prepare) as pool:
        _ = pool.process  # raises where LLVM cannot be used
        for each in files:
            done = pool.call(compared, (each,), None, False, gives=LinkReport, limits=Limits(limit))
            if done.death is not None and done.death.how == "timed out":
                words = f"LLVM took longer than {limit:g} s and was stopped; --timeout allows more"
                raise OptctxError(f"cannot read {each[0]}: {words}")
            answered(done, f"cannot read {each[0]}")
        limits = Limits(limit * (len(files) + 1))
        done = pool.call(compared, tuple(files), link, required, gives=LinkReport, limits=limits)
        return answered(done, "cannot compare the files")


def prepare() -> None:
    """Attach once, in the server."""
    attach()


def compared(_: None, files: tuple[File, ...], link_options: str | None, required: bool) -> LinkReport:
    """Read the stamps of modules, and compare them. Raises OptctxError."""
    context = None if link_options is None else _link_step(link_options)
    return check_link([_module(*each) for each in files], context, require_stamps=required)


def _link_step(options: str) -> OptionContext:
    return OptionContext.from_args(options, base="defaults", process_wide="exclusive")


def _module(name: str, data: bytes) -> binding.ModuleRef:
    """Parse the module in a file, and name it after the file."""
    try:
        parsed = data.startswith(BITCODE)
        module = binding.parse_bitcode(data) if parsed else binding.parse_assembly(data.decode())
    except UnicodeDecodeError:
        raise OptctxError(f"cannot read {name}: expected LLVM bitcode or IR as text, found neither") from None
    except RuntimeError as error:
        raise OptctxError(f"cannot read {name}: {error}") from None
    module.name = name
    return module
