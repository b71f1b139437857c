"""List the options of the LLVM that llvmlite loads, or of another one, with type, process-wide value, scope
and help. The scope is 'thread' where a context can set the option, 'process' where only the whole process
can, and 'unread' where nothing in the library reads it. The whole name of an option shows everything about
it: default, choices, aliases, the functions that read it, and what may set it. JSON has all that is known,
for --against too, which compares with another LLVM: names that came and went, types, defaults, choices,
readers.

    optctx options 'unroll-*'
    optctx options unroll-count
    optctx options --read-by LoopUnroll
    optctx options --format json > old.json
    optctx options --against old.json
    optctx options --llvm build/lib/libLLVM.so
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from optctx import libllvm
from optctx.compiling.facts import Facts, OptionFacts, facts, load_facts, text
from optctx.errors import OptctxError, shown
from optctx.lab.command.console import printed, say, show
from optctx.lab.command.groups import Out, llvm
from optctx.lab.command.inputs import read_file
from optctx.lab.settings import argument, group, setting
from optctx.lab.tables import Table
from optctx.wording import did_you_mean, nearest

_COMPARED = ("type", "default", "choices", "alias_of", "storage", "scope", "read_by")


@dataclass(frozen=True)
class Arguments:
    """What `optctx options` takes."""

    name: str = argument(
        "an option's name, a part of one, or a glob such as 'unroll-*' (every option)", default="", nargs="?"
    )
    read_by: str | None = setting(
        None, "only those that functions with this in their name read", metavar="FUNCTION"
    )
    old: str | None = setting(
        None,
        "show what changed since another LLVM, whose options --format json wrote",
        flags="--against",
        metavar="FILE",
    )
    llvm: str = llvm()
    out: Out = group(Out)


def run(given: Arguments) -> None:
    """Print the options that match, in order of name, or what changed. Raises OptctxError if none matches."""
    if given.old is not None:
        old = load_facts(read_file(given.old, "LLVM's options as JSON"), given.old)
        _print_difference(given.out.format, *_chosen(given, old, _facts(given.llvm)))
        return
    [chosen] = _chosen(given, _facts(given.llvm))
    if printed(given.out.format, lambda: chosen):
        return
    if _is_whole(given, chosen):
        _print_one(chosen.options[0])
        return
    rows = [(each.name, each.type, text(each.value), each.scope, each.help) for each in chosen.options]
    show(Table(("name", "type", "value", "scope", "help"), rows))


def _facts(llvm: str) -> Facts:
    if not llvm:
        return facts()
    opened = libllvm.open(llvm)
    return facts(opened.image, opened.version)


def _chosen(given: Arguments, *found: Facts) -> list[Facts]:
    """The options that match, of each LLVM. Raises OptctxError if there are none."""
    whole = any(_is_whole(given, each) for each in found)
    chosen = [each.only(lambda option: _matches(option, given, whole)) for each in found]
    if not any(each.options for each in chosen):
        among = f" with --read-by {shown(given.read_by)}" if given.read_by else ""
        near = nearest(given.name.strip("-*"), [option.name for option in found[-1].options])
        hint = did_you_mean(near) or "`optctx options` shows every option"
        raise OptctxError(f"no option matches {shown(given.name)}{among}; {hint}")
    return chosen


def _is_whole(given: Arguments, found: Facts) -> bool:
    """Whether an option has this name, and not only a part of it."""
    return any(option.name == given.name.lstrip("-") for option in found.options)


def _matches(option: OptionFacts, given: Arguments, whole: bool) -> bool:
    wanted = given.name.lstrip("-")
    exact = whole or any(character in wanted for character in "*?[")
    if not fnmatch.fnmatchcase(option.name, wanted if exact else f"*{wanted}*"):
        return False
    return given.read_by is None or any(given.read_by in function for function in option.read_by)


def _text(value: Any) -> str:
    """What a field of an option holds, on one line."""
    if isinstance(value, (tuple, dict)):
        return "; ".join(value)
    return value if isinstance(value, str) else text(value)


def _print_one(option: OptionFacts) -> None:
    """Every field: a line for each, for each choice and for each function that reads the option."""
    shown = {name.replace("_", " "): _lines(name, getattr(option, name)) for name in option.__struct_fields__}
    width = max(map(len, shown))
    for label, lines in shown.items():
        for number, line in enumerate(lines or ["-"]):
            say(f"{'' if number else label:{width}}  {line}".rstrip())


def _lines(name: str, value: Any) -> list[str]:
    match name:
        case "choices":
            return [f"{choice}: {help}" if help else choice for choice, help in value.items()]
        case "read_by":
            return list(value)
        case "aliases" | "categories":
            return [", ".join(value)] if value else []
        case _:
            return [text(value)] if value != "" or name in ("default", "value") else []


def _print_difference(form: str, old: Facts, new: Facts) -> None:
    """Print totals, names that came and went, and a table of changes, without readers for people."""
    before, after = ({option.name: option for option in each.options} for each in (old, new))
    both = sorted(before.keys() & after.keys())
    changes = [change for name in both for change in _changes(before[name], after[name])]
    names = {"added": sorted(after.keys() - before.keys()), "removed": sorted(before.keys() - after.keys())}
    totals = {"names in both": len(both), **{what: len(each) for what, each in names.items()}}
    totals |= sorted(Counter(change["what"] for change in changes).items())
    sides = {"old": old, "new": new}
    about = ("library", "build_id", "llvm", "llvmlite")
    named = {side: {name: getattr(each, name) for name in about} for side, each in sides.items()}
    if printed(form, lambda: {**named, "totals": totals, **names, "changes": changes}):
        return
    for side, each in sides.items():
        say(f"{side}: {each.title}, {len(each.options):,} names")
    say("")
    show(Table(("change", "options"), [(what, f"{n:,}") for what, n in totals.items()]))
    for what, listed in names.items():
        say("", f"{what}: {', '.join(listed) or 'none'}")
    if rows := [(*change.values(),) for change in changes if change["what"] != "read by"]:
        say("")
        show(Table(("option", "change", "old", "new"), rows))


def _changes(old: OptionFacts, new: OptionFacts) -> Iterator[dict[str, str]]:
    """What is true of one of two options of a name alone. Of readers, those that ceased and began."""
    for field in _COMPARED:
        before, after = getattr(old, field), getattr(new, field)
        if field == "read_by":
            functions = _without_parameters(before), _without_parameters(after)
            before, after = tuple(functions[0] - functions[1]), tuple(functions[1] - functions[0])
        texts = _text(before), _text(after)
        if texts[0] != texts[1]:
            yield {"name": old.name, "what": field.replace("_", " "), "old": texts[0], "new": texts[1]}


def _without_parameters(functions: tuple[str, ...]) -> set[str]:
    """Parameters and clones differ between compilers and releases."""
    return {each.partition(" [clone")[0].partition("(")[0] or each for each in functions}
