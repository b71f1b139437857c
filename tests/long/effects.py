"""Every option that modules may set, as the attribute of one of two equal functions.

Status 1 if an attribute is taken and does not do what the option of a process of stock LLVM does.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

import optctx
from evidence.conformance.job import source
from optctx import OptionContext, record, registry
from optctx.compiling import FreshProcess, Job, Result, compile_job, compile_unchecked
from tests.long.fuzz.confined import Limits, outcomes
from tests.long.fuzz.modules import attributed
from tests.long.probe import jobs, spread_values, tuning_options, unlike

_READERS = 6  # compilations that are tried with an option
_EFFECTS = 3  # compilations of an option that it changes
_REPEATS = 6
_DEFINED = re.compile(r"^define .*?^}\n", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"@([\w.]+)\(")
_SUFFIXES = ("_one", "_two")
_OWN = re.compile(r' "optctx"(="[^"]*")?')
_GROUP = re.compile(r"^attributes (#\d+) = \{(.*)\}$", re.MULTILINE)
_NODE = re.compile(r"^(![0-9]+) = (.*)$", re.MULTILINE)
# Numbered over the whole module: where one function has a label more, those of the next one are others.
_LABEL = re.compile(
    r"(?:(\.L|L\.\.|L|\$|\.)"
    r"(C|tmp|loh|post_getpc|pcrel_hi|func_begin|func_end|exception|cst_\w+|ttbase\w*)"
    r"|(callseq |prototype_))\d+"
)
_BEGINS = re.compile(r"[._]?(\w+(?:_one|_two)):|\..*\b(?:func|entry)\b.* (\w+(?:_one|_two))\(")
_ENDS = re.compile(
    r"\s*(\.Lfunc_end|\.size\b|\.cfi_endproc|\.end_function|end_function|\.seh_endproc|\.tc\b|})"
)


@dataclass(frozen=True)
class Case:
    """A compilation without options, with what stock LLVM gives for it and the options that it reads."""

    job: Job
    stock: Result
    read: frozenset[str]


class Effect(NamedTuple):
    """An option whose value changes a compilation of stock LLVM."""

    argument: str
    case: Case
    changed: Result


def main() -> int:
    optctx.attach(attributes="error", trust=("tuning",))
    with FreshProcess(timeout=60) as fresh, ThreadPoolExecutor(2) as pool:
        cases = [case for case in pool.map(partial(case_of, fresh=fresh), candidates()) if case is not None]
        print(f"{len(cases)} compilations", flush=True)
        return int(of_attributes(cases, [option.name for option in tuning_options()], fresh) > 0)


def candidates() -> list[Job]:
    """The jobs of the probe, with every function twice. SPIR-V has no attributes of functions.

    ARM at -O0 is left out: an attribute there takes a function from FastISel (design/target-machines.md).
    """
    found: dict[Job, None] = {}
    for job in jobs():
        if not job.solitary and not (job.opt_level == 0 and job.triple.startswith(("armv", "thumb"))):
            is_ir = job.tool == "opt"
            found.setdefault(
                Job(
                    doubled(source(job.path)),
                    job.passes if is_ir else "verify",
                    triple=job.triple,
                    cpu=job.cpu,
                    features=job.features,
                    opt_level=job.opt_level,
                    emit="ir" if is_ir else "assembly",
                )
            )
    return list(found)


def case_of(job: Job, fresh: FreshProcess) -> Case | None:
    """None for what stock LLVM does not compile, or compiles otherwise each time (gvn-hoist)."""
    stock = fresh.compile(job)
    if stock.error is not None or any(compile_job(job) != stock for _ in range(_REPEATS)):
        return None
    with OptionContext(), record() as log:
        found = compile_job(job)
    assert found == stock, f"{found.error}: {job.triple} {job.passes}"
    return Case(job, stock, log.names)


def of_attributes(cases: Sequence[Case], names: Sequence[str], fresh: FreshProcess) -> int:
    """How many attributes do not act, although no error says so.

    An option that acts elsewhere may be silent where passes over the module alone read it: they have the
    options of the module (docs/guide/binding.md).
    """
    counts: Counter[str] = Counter()
    wrong = 0
    for found in effects(cases, names, fresh):
        told = answers(found)
        right = {"acts", "refused", *(("silent",) if "acts" in told else ())}
        for effect, answer in zip(found, told, strict=True):
            wrong += answer not in right
            if answer not in ("acts", "refused"):
                job = effect.case.job
                print(f"{answer}: {effect.argument} in {job.triple} {job.passes} {job.opt_level}", flush=True)
        counts[" and ".join(sorted({*told})) or "without an effect"] += 1
    read = sum(counts.values())
    print(f"{len(names)} options, {read} read:", ", ".join(f"{counts[how]} {how}" for how in sorted(counts)))
    print(f"{wrong} attributes that are taken and do something else")
    return wrong


def effects(cases: Sequence[Case], names: Sequence[str], fresh: FreshProcess) -> Iterator[list[Effect]]:
    """Yield, for each option that LLVM reads, what it changes in some of the cases."""
    read = [name for name in names if any(name in case.read for case in cases)]
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(partial(_effects, cases, fresh), read)


def _effects(cases: Sequence[Case], fresh: FreshProcess, name: str) -> list[Effect]:
    reading = [case for case in cases if name in case.read]
    found: list[Effect] = []
    for case in unlike(reading, lambda case: case.job, random.Random(name))[:_READERS]:
        for value in spread_values(registry()[name]):
            argument = f"-{name}={value}"
            changed = fresh.compile(replace(case.job, options=(argument,)))
            if changed.error is None and _changes(case.stock, changed):
                found.append(Effect(argument, case, changed))
                break
        if len(found) == _EFFECTS:
            break
    return found


def answers(found: Sequence[Effect]) -> list[str]:
    """What came of each attribute, in a child that cannot reach outside.

    acts: as the option of the process on its function alone; silent: not at all; partly: otherwise;
    refused; failed: LLVM gave an error; or how the child ended.
    """
    return [outcome.how for outcome in outcomes(found, _answer, Limits())]


def _changes(stock: Result, changed: Result) -> bool:
    before, after = _functions(stock), _functions(changed)
    return any(before[name] != after.get(name) for name in before)


def _answer(effect: Effect) -> str:
    # Confined: it starts no process. In a scope, because LLVM sets some options of the process for good:
    # min-jump-table-entries, when it compiles for AVR.
    job = effect.case.job
    with OptionContext(base="defaults"):
        given = compile_unchecked(replace(job, ir=with_attribute(str(job.ir), effect.argument)))
    if given.error is not None:
        return "refused" if "nothing has been run: cannot use" in given.error else "failed"
    stock, changed, found = map(_functions, (effect.case.stock, effect.changed, given))
    right = {name: (changed if name.endswith("_one") else stock).get(name) for name in {**stock, **changed}}
    if all(found.get(name) == text for name, text in right.items()):
        return "acts"
    return "silent" if found == stock else "partly"


def _functions(result: Result) -> dict[str, str]:
    return functions_of(result.ir if result.ir is not None else result.code.decode())


# Modules in which every function stands twice, and what became of each function in what LLVM gives


@cache
def doubled(text: str) -> str:
    """The module with each function as NAME_one, which has an empty attribute "optctx", and NAME_two."""
    names = [found[1] for body in _DEFINED.findall(text) if (found := _NAME.search(body))]
    any_of = re.compile(rf"@({'|'.join(map(re.escape, names))})(?![\w.])")

    def twice(found: re.Match[str]) -> str:
        one, two = (any_of.sub(rf"@\1{suffix}", found[0]) for suffix in _SUFFIXES)
        return attributed(one, '"optctx"=""') + two

    return any_of.sub(rf"@\1{_SUFFIXES[0]}", _DEFINED.sub(twice, text)) if names else text


def with_attribute(text: str, attribute: str) -> str:
    """A doubled module with the attribute on the first of each two functions."""
    return text.replace('"optctx"=""', f'"optctx"="{attribute}"')


def functions_of(output: str) -> dict[str, str]:
    """Name -> text, without what other functions of the module change in it."""
    return dict(_of_ir(output) if "\ndefine " in output else _of_assembly(output))


def _of_ir(output: str) -> Iterator[tuple[str, str]]:
    groups = dict(_GROUP.findall(output))
    nodes = dict(_NODE.findall(output))
    for body in _DEFINED.findall(output):
        name = _NAME.search(body)
        if name and name[1].endswith(_SUFFIXES):
            text = re.sub(r"#\d+", lambda found: groups.get(found[0], ""), body)
            yield name[1], _OWN.sub("", _with_nodes(text, nodes))


def _with_nodes(text: str, nodes: dict[str, str]) -> str:
    """The text with its metadata, numbered as they come."""
    seen: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"!n{len(seen)}")

    lines, done = [re.sub(r"!\d+", number, text)], 0
    while done < len(seen):
        node = list(seen)[done]
        lines.append(f"{seen[node]} = {re.sub(r'![0-9]+', number, nodes.get(node, ''))}")
        done += 1
    return "\n".join(lines)


def _of_assembly(output: str) -> Iterator[tuple[str, str]]:
    name, lines = "", list[str]()
    for line in output.splitlines():
        begins = _BEGINS.match(line)
        if begins:
            name, lines = begins[1] or begins[2], []
        elif name and _ENDS.match(line):
            yield name, "\n".join(lines)
            name = ""
        elif name:
            lines.append(_LABEL.sub(r"\1\2\3", line))
    if name:
        yield name, "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
