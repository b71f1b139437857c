"""List the options of the LLVM that llvmlite loads, with type, process-wide value, scope and help. The scope
is 'thread' where a context can set the option, 'process' where only the whole process can, and 'unread' where
nothing in the library reads it. JSON has all that is known, for `optctx diff` too; python is a module with a
dataclass for each of LLVM's libraries, for OptionContext.from_options.

    optctx options 'unroll-*'
    optctx options inline --type int --format json
    optctx options --read-by computeUnrollCount
    optctx options --format python -o llvm_options.py
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

from optctx.errors import OptctxError, shown
from optctx.facts import Facts, OptionFacts, facts, text
from optctx.lab.command.console import printed, put, show
from optctx.lab.command.groups import Out, out
from optctx.lab.lookup import as_python, facts_as_json, facts_as_rows
from optctx.lab.settings import argument, setting
from optctx.tables import Table
from optctx.wording import did_you_mean, nearest

# As in Option.type and Option.scope
_TYPES = (
    *("bool", "boolOrDefault", "int", "uint", "int64", "uint64", "float", "double", "char", "string"),
    *("enum", "list", "bits", "set", "other"),
)
_SCOPES = ("thread", "process", "unread")
_FILTERS = ("type", "scope", "library", "read_by")


@dataclass(frozen=True)
class Arguments:
    """What `optctx options` takes."""

    pattern: str = argument("part of a name, or a glob such as 'unroll-*' (every option)", "", nargs="?")
    type: str | None = setting(
        None, f"only options of one type: {', '.join(_TYPES)}", choices=_TYPES, metavar="TYPE"
    )
    scope: str | None = setting(None, "only options of one scope", choices=_SCOPES)
    library: str | None = setting(None, "only those of one of LLVM's libraries: ScalarOpts", metavar="NAME")
    read_by: str | None = setting(
        None, "only those that functions with this in their name refer to", metavar="FUNCTION"
    )
    out: Out = out("table", "json", "csv", "python")


def run(given: Arguments) -> None:
    """Print the matching options, in order of name. Raises OptctxError if none matches."""
    form = given.out.format
    found = facts(readers=form in ("json", "csv") or given.read_by is not None)
    chosen = found.only(lambda option: _matches(option, given))
    if not chosen.options:
        raise _no_match(found, given)
    match form:
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
            show(Table(headings, rows, whole=("name", "type", "scope"), least=("scope", "value")))


def _matches(option: OptionFacts, given: Arguments) -> bool:
    wanted = given.pattern.lstrip("-")
    glob = wanted if any(character in wanted for character in "*?[") else f"*{wanted}*"
    if not fnmatch.fnmatchcase(option.name, glob):
        return False
    if given.read_by is not None and not any(given.read_by in function for function in option.read_by):
        return False
    return all(getattr(given, name) in (None, getattr(option, name)) for name in ("type", "scope", "library"))


def _no_match(found: Facts, given: Arguments) -> OptctxError:
    library, libraries = given.library, {option.library for option in found.options}
    if library is not None and library not in libraries:
        near = did_you_mean(nearest(library, libraries)) or f"they are {', '.join(sorted(libraries))}"
        return OptctxError(f"no library of LLVM with options is called {shown(library)}; {near}")
    filters = {name: getattr(given, name) for name in _FILTERS}
    wanted = [f"--{name.replace('_', '-')} {shown(value)}" for name, value in filters.items() if value]
    among = f" with {' and '.join(wanted)}" if wanted else ""
    near = did_you_mean(nearest(given.pattern.strip("-*"), [option.name for option in found.options]))
    hint = near or "`optctx options` shows every option"
    return OptctxError(f"no option matches {shown(given.pattern)}{among}; {hint}")
