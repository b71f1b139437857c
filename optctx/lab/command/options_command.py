"""`optctx options`: lists the options that LLVM has registered, for people, programs and editors."""

from __future__ import annotations

import argparse
import fnmatch

from optctx.errors import OptctxError, shown
from optctx.facts import Facts, OptionFacts, facts, text
from optctx.lab.command.console import printed, put, show
from optctx.lab.command.groups import add_out
from optctx.lab.lookup import as_python, facts_as_json, facts_as_rows
from optctx.lab.settings import completing
from optctx.tables import table
from optctx.wording import did_you_mean, nearest

__all__ = ["add", "run"]

# As in Option.type and Option.scope
_TYPES = (
    *("bool", "boolOrDefault", "int", "uint", "int64", "uint64", "float", "double", "char", "string"),
    *("enum", "list", "bits", "set", "other"),
)
_SCOPES = ("thread", "process", "unread")
_FILTERS = ("type", "scope", "library", "read_by")


DESCRIPTION = (
    "List the options of the LLVM that llvmlite loads, with type, process-wide value, scope "
    "and help. The scope is 'thread' where a context can set the option, 'process' where only the whole "
    "process can, and 'unread' where nothing in the library reads it. JSON has all that is known, for "
    "`optctx diff` too; python is a module with a dataclass for each of LLVM's libraries, for "
    "OptionContext.from_options."
)
EXAMPLE = (
    "optctx options 'unroll-*'\noptctx options inline --type int --format json\n"
    "optctx options --read-by computeUnrollCount\n"
    "optctx options --format python -o llvm_options.py"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    words = "part of a name, or a glob such as 'unroll-*' (every option)"
    completing(parser.add_argument("pattern", nargs="?", default="", help=words), "option")
    parser.add_argument(
        "--type", choices=_TYPES, metavar="TYPE", help=f"only options of one type: {', '.join(_TYPES)}"
    )
    parser.add_argument("--scope", choices=_SCOPES, help="only options of one scope")
    parser.add_argument("--library", metavar="NAME", help="only those of one of LLVM's libraries: ScalarOpts")
    parser.add_argument(
        "--read-by", metavar="FUNCTION", help="only those that functions with this in their name refer to"
    )
    add_out(parser, "table", "json", "csv", "python")


def run(arguments: argparse.Namespace) -> int:
    """Print the matching options, in order of name. Raises OptctxError if none matches."""
    found = facts(readers=arguments.format in ("json", "csv") or arguments.read_by is not None)
    chosen = found.only(lambda option: _matches(option, arguments))
    if not chosen.options:
        raise _no_match(found, arguments)
    match arguments.format:
        case "json":
            put(facts_as_json(chosen))
        case "csv":
            printed("csv", lambda: chosen, lambda: facts_as_rows(chosen))
        case "python":
            put(as_python(chosen), end="")
        case _:
            headings = ("name", "type", "value", "scope", "help")
            options = chosen.options
            rows = [(each.name, each.type, text(each.value), each.scope, each.help) for each in options]
            show(table(headings, rows, whole=("name", "type", "scope")), ("scope", "value"))
    return 0


def _matches(option: OptionFacts, arguments: argparse.Namespace) -> bool:
    wanted = arguments.pattern.lstrip("-")
    if any(character in wanted for character in "*?["):
        named = fnmatch.fnmatchcase(option.name, wanted)
    else:
        named = wanted in option.name
    if arguments.read_by is not None:
        named = named and any(arguments.read_by in function for function in option.read_by)
    return named and all(
        getattr(arguments, name) in (None, getattr(option, name)) for name in ("type", "scope", "library")
    )


def _no_match(found: Facts, arguments: argparse.Namespace) -> OptctxError:
    given = {name: getattr(arguments, name) for name in _FILTERS}
    libraries = {option.library for option in found.options}
    if given["library"] is not None and given["library"] not in libraries:
        near = (
            did_you_mean(nearest(given["library"], libraries)) or f"they are {', '.join(sorted(libraries))}"
        )
        return OptctxError(f"no library of LLVM with options is called {shown(given['library'])}; {near}")
    wanted = [f"--{name.replace('_', '-')} {shown(value)}" for name, value in given.items() if value]
    among = f" with {' and '.join(wanted)}" if wanted else ""
    names = [option.name for option in found.options]
    hint = (
        did_you_mean(nearest(arguments.pattern.strip("-*"), names)) or "`optctx options` shows every option"
    )
    return OptctxError(f"no option matches {shown(arguments.pattern)}{among}; {hint}")
