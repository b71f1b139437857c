"""List the options of the LLVM that llvmlite loads, with type, process-wide value, scope and help. The scope
is 'thread' where a context can set the option, 'process' where only the whole process can, and 'unread' where
nothing in the library reads it. The whole name of an option shows everything about it: default, choices,
aliases, the functions that read it, and what may set it. JSON has all that is known, for --against too, which
compares with another LLVM: names that came and went, types, defaults, choices, readers.

    optctx options 'unroll-*'
    optctx options unroll-count
    optctx options inline --type int --format json
    optctx options --format json -o old.json
    optctx options --against old.json
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

from optctx.errors import OptctxError, shown
from optctx.facts import Facts, OptionFacts, facts, text
from optctx.lab.command.console import encodable, printed, put, say, show
from optctx.lab.command.files import read_file
from optctx.lab.command.groups import Out, out
from optctx.lab.lookup import MOST_BYTES, Difference, compare, facts_as_json, facts_as_rows, load_facts
from optctx.lab.settings import argument, setting
from optctx.lab.tables import Table
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

    name: str = argument(
        "an option's name, a part of one, or a glob such as 'unroll-*' (every option)", "", nargs="?"
    )
    type: str | None = setting(
        None, f"only options of one type: {', '.join(_TYPES)}", choices=_TYPES, metavar="TYPE"
    )
    scope: str | None = setting(None, "only options of one scope", choices=_SCOPES)
    library: str | None = setting(None, "only those of one of LLVM's libraries: ScalarOpts", metavar="NAME")
    read_by: str | None = setting(
        None, "only those that functions with this in their name refer to", metavar="FUNCTION"
    )
    old: str | None = setting(
        None,
        "show what changed since another LLVM, whose options --format json wrote",
        flag="--against",
        metavar="FILE",
    )
    out: Out = out()


def run(given: Arguments) -> None:
    """Print the options that match, in order of name, or what changed. Raises OptctxError if none matches."""
    if given.old is not None:
        data = read_file(given.old, "LLVM's options as JSON", MOST_BYTES)
        old = load_facts(data, encodable(given.old))
        _print_difference(compare(*_chosen(given, old, facts())), given.out.format)
        return
    # The functions that refer to options take half a second, which a list does without.
    readers = given.out.format != "table" or given.read_by is not None
    found = facts(readers=readers)
    if _is_whole(given, found) and not readers:
        found = facts()
    [chosen] = _chosen(given, found)
    if given.out.format == "json":
        put(facts_as_json(chosen))
    elif printed(given.out.format, lambda: chosen, lambda: facts_as_rows(chosen)):
        return
    elif _is_whole(given, found):
        _print_one(chosen.options[0])
    else:
        _print_list(chosen)


def _chosen(given: Arguments, *found: Facts) -> list[Facts]:
    """The options that match, of each LLVM. Raises OptctxError if there are none."""
    whole = any(_is_whole(given, each) for each in found)
    chosen = [each.only(lambda option: _matches(option, given, whole)) for each in found]
    if not any(each.options for each in chosen):
        raise _no_match(found[-1], given)
    return chosen


def _is_whole(given: Arguments, found: Facts) -> bool:
    """Whether an option has this name, and not only a part of it."""
    return any(option.name == given.name.lstrip("-") for option in found.options)


def _matches(option: OptionFacts, given: Arguments, whole: bool) -> bool:
    wanted = given.name.lstrip("-")
    exact = whole or any(character in wanted for character in "*?[")
    if not fnmatch.fnmatchcase(option.name, wanted if exact else f"*{wanted}*"):
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
    near = did_you_mean(nearest(given.name.strip("-*"), [option.name for option in found.options]))
    hint = near or "`optctx options` shows every option"
    return OptctxError(f"no option matches {shown(given.name)}{among}; {hint}")


def _print_list(found: Facts) -> None:
    headings = ("name", "type", "value", "scope", "help")
    rows = [(each.name, each.type, text(each.value), each.scope, each.help) for each in found.options]
    show(Table(headings, rows, whole=("name", "type", "scope"), least=("scope", "value")))


def _print_one(option: OptionFacts) -> None:
    """Every field: a line for each, for each choice and for each function that refers to the option."""
    shown = {name.replace("_", " "): _lines(name, getattr(option, name)) for name in option.__struct_fields__}
    width = max(map(len, shown))
    for label, lines in shown.items():
        for number, line in enumerate(lines or ["-"]):
            say(f"{'' if number else label:{width}}  {line}".rstrip())


def _lines(name: str, value: Any) -> list[str]:
    match name:
        case "choices":
            return [f"{choice}: {each.help}" if each.help else choice for choice, each in value.items()]
        case "readers":
            return list(dict.fromkeys(reader.function for reader in value or ()))
        case "aliases" | "categories":
            return [", ".join(value)] if value else []
        case _:
            return [text(value)] if value != "" or name in ("default", "value") else []


def _print_difference(found: Difference, form: str) -> None:
    """Print totals, names that came and went, and a table of changes, without readers for people."""
    rows = [(each.name, each.what, each.old, each.new) for each in found.changes]
    headings = ("option", "change", "old", "new")
    if printed(form, lambda: _plain(found), lambda: [headings, *rows]):
        return
    for side, each in (("old", found.old), ("new", found.new)):
        say(f"{side}: {each.title}, {len(each.options):,} names")
    say("")
    show(Table(("change", "options"), [(what, f"{n:,}") for what, n in found.totals.items()]))
    for what, names in (("added", found.added), ("removed", found.removed)):
        say("", f"{what}: {', '.join(names) or 'none'}")
    if rows := [row for row in rows if row[1] != "readers"]:
        say("")
        show(Table(headings, rows, whole=("option",)))


def _plain(found: Difference) -> dict[str, object]:
    sides = {
        side: {name: getattr(each, name) for name in ("library", "build_id", "llvm", "llvmlite")}
        for side, each in (("old", found.old), ("new", found.new))
    }
    named = {name: getattr(found, name) for name in ("totals", "added", "removed", "changes")}
    return {**sides, **named}
