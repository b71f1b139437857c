"""`record` against stock LLVM: an option that it does not name changes nothing, whatever its value."""

from __future__ import annotations

import random
from collections.abc import Sequence

from optctx import OptctxError, OptionContext, registry
from optctx.compiling import FreshProcess
from optctx.compiling.facts import resolve
from tests.long.effects.cases import Case
from tests.long.probe.values import hostile_values

_TOGETHER = 64  # options that one compilation has: none of them is read, so they cannot matter to each other


def arguments(chance: random.Random) -> dict[str, str]:
    """One value of each option that a scope can set, other than its default."""
    found = {}
    for name, option in sorted(registry().items()):
        if option.scope != "thread" or option.alias_of or option.trust in ("code", "output"):
            continue  # what loads libraries, prints or writes files
        values = [text for text in hostile_values(option) if text != str(option.default).lower()]
        chance.shuffle(values)
        if argument := next(filter(None, (_argument(name, text) for text in values)), ""):
            found[resolve(name)] = argument  # the name that `record` gives
    return found


def missed(case: Case, given: dict[str, str], fresh: FreshProcess, chance: random.Random) -> list[str]:
    """The options that `record` did not name, although they change what stock LLVM gives."""
    unread = sorted(given.keys() - case.read)
    chance.shuffle(unread)
    parts = [unread[at : at + _TOGETHER] for at in range(0, len(unread), _TOGETHER)]
    found = []
    while parts:
        part = parts.pop()
        if fresh.compile(case.given([given[name] for name in part])) == case.stock:
            continue
        half = len(part) // 2
        parts += [part[:half], part[half:]] if half else []
        found += [] if half else part
    return found


def covered(cases: Sequence[Case], given: dict[str, str]) -> int:
    """How many of the options one of the cases does not read."""
    return len(given.keys() - frozenset.intersection(*(case.read for case in cases)))


def _argument(name: str, text: str) -> str:
    """As LLVM's own command line takes it; "" if it does not."""
    try:
        return " ".join(OptionContext.from_args([f"-{name}={text}"], base="defaults").args())
    except OptctxError:
        return ""
