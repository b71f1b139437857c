"""Compare the options that modules were compiled with, before or after they are linked: what optctx.stamp
wrote into them. Exit status 1 if any option differs, 2 for bad input.

    optctx check-link a.bc b.bc --link-options='-unroll-count=4'
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from llvmlite import binding

from optctx import LinkReport, OptionContext, attach, check_link
from optctx.children.limits import Limits
from optctx.children.pool import Pool
from optctx.compiling import answered
from optctx.errors import OptctxError
from optctx.lab.command.console import encodable, printed, say, show
from optctx.lab.command.files import read_file
from optctx.lab.command.groups import Out, out
from optctx.lab.command.inputs import BITCODE
from optctx.lab.settings import argument, seconds, setting
from optctx.tables import Table

File = tuple[str, bytes]  # its name as it is printed, and what it holds


@dataclass(frozen=True)
class Arguments:
    """What `optctx check-link` takes."""

    files: tuple[str, ...] = argument("bitcode or LLVM IR", metavar="FILE", nargs="+")
    link_options: str | None = setting(
        None,
        "options of the link step, to compare as well: --link-options='-unroll-count=4 -stats'",
        metavar="ARGS",
        options=True,
    )
    require_stamps: bool = setting(False, "exit status 1 also for a file with neither")
    timeout: float = setting(
        60.0, "seconds that LLVM may take for one file (%(default)g)", metavar="S", read=seconds
    )
    out: Out = out("table", "json")


def run(given: Arguments) -> int:
    """Print the options that differ. Returns 1 if there are any. Raises OptctxError and OSError."""
    if given.link_options is not None:  # refused here, before any file is read
        _link_step(given.link_options)
    files = [(encodable(path), read_file(path, "LLVM bitcode or IR")) for path in given.files]
    report = _report(files, given)
    print_report(report, given.out.format)
    return 1 if report else 0


def print_report(report: LinkReport, form: str) -> None:
    """Print a report as JSON or for people."""
    if printed(form, lambda: {"consistent": not report, **msgspec.to_builtins(report)}):
        return
    if report.mismatches:
        show(Table(("option", "value", "in"), report.rows()))
    say(*(f"{module}: no stamp" for module in report.unstamped), report.summary())


def _report(files: list[File], given: Arguments) -> LinkReport:
    """The report of `check_link`, after each file has been read alone: so the one at fault is known.

    A damaged or hostile module may crash or hang LLVM, so all that happens in children. Raises OptctxError as
    it does, and if LLVM crashes or is too slow.
    """
    link, required, limit = given.link_options, given.require_stamps, given.timeout
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
    return OptionContext.from_args(options, base="defaults")


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
