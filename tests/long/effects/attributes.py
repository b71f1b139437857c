"""The attribute of one of two equal functions, against the option of a whole process of stock LLVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from optctx import OptionContext, registry
from optctx.compiling import FreshProcess, Result, compile_unchecked
from tests.long.effects.cases import Case, readers, values_of
from tests.long.effects.functions import functions_of
from tests.long.fuzz.confined import Limits, outcomes

# acts: as the option of the process on its function alone; silent: not at all; partly: otherwise
# failed: LLVM gave an error
Answer: TypeAlias = Literal["acts", "refused", "silent", "partly", "failed"]
_EFFECTS = 3  # compilations of an option that it changes


class Effect(NamedTuple):
    """An option whose value changes a compilation of stock LLVM."""

    name: str
    argument: str
    case: Case
    changed: Result


def settable() -> list[str]:
    """Every option that modules may set."""
    return [
        name
        for name, each in registry().items()
        if each.trust == "tuning" and each.scope == "thread" and not each.alias_of
    ]


def effects(
    cases: Sequence[Case], names: Sequence[str], fresh: FreshProcess, most: int
) -> Iterator[list[Effect]]:
    """Yield, for each option that LLVM reads, what it changes in up to `most` of the cases."""
    read = [name for name in names if any(name in case.read for case in cases)]
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(partial(_effects, cases, fresh, most), read)


def _effects(cases: Sequence[Case], fresh: FreshProcess, most: int, name: str) -> list[Effect]:
    found: list[Effect] = []
    for case in readers(cases, name, most):
        for value in values_of(registry()[name]):
            argument = f"-{name}={value}"
            changed = fresh.compile(case.given([argument]))
            if changed.error is None and _changes(case.stock, changed):
                found.append(Effect(name, argument, case, changed))
                break
        if len(found) == _EFFECTS:
            break
    return found


def answers(found: Sequence[Effect]) -> list[str]:
    """What came of each attribute, in a child that cannot reach outside."""
    told: list[str] = []
    while len(told) < len(found):
        for outcome in outcomes(found[len(told) :], _answer, Limits()):
            told.append(outcome.how)
            if outcome.fatal:
                break
    return told


def _changes(stock: Result, changed: Result) -> bool:
    before, after = _functions(stock), _functions(changed)
    return any(before[name] != after.get(name) for name in before)


def _answer(effect: Effect) -> Answer:
    # Confined: it starts no process. In a scope, because LLVM sets some options of the process for good:
    # min-jump-table-entries, when it compiles for AVR.
    with OptionContext(base="defaults"):
        given = compile_unchecked(effect.case.attributed(effect.argument))
    if given.error is not None:
        return "refused" if "nothing has been run: cannot use" in given.error else "failed"
    stock, changed, found = map(_functions, (effect.case.stock, effect.changed, given))
    right = {name: (changed if name.endswith("_one") else stock).get(name) for name in {**stock, **changed}}
    if all(found.get(name) == text for name, text in right.items()):
        return "acts"
    return "silent" if found == stock else "partly"


def _functions(result: Result) -> dict[str, str]:
    return functions_of(result.ir if result.ir is not None else result.code.decode())
