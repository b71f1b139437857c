"""The ways of giving options to LLVM, side by side: what each does, and what programs over it show."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from evidence.strategies import STRATEGIES
from evidence.strategies.arguments import merged
from evidence.strategies.host import Host
from evidence.strategies.judging import Judge
from evidence.strategies.kernel import KERNEL, OPTIONS
from evidence.strategies.program import BYSTANDER, Outcome, Program, Step, digest
from evidence.strategies.properties import PROPERTIES
from optctx.compiling import FreshProcess, Job
from tests.support.processes import output_of

JOB = Job(KERNEL, emit="assembly")
WIDE, NARROW, UNROLLED, INTEL = OPTIONS[1], OPTIONS[0], OPTIONS[2], OPTIONS[3]
BOTH = merged((*WIDE, *UNROLLED))
Options = tuple[str, ...]
# `make test` shows that the tool still fits the package, `make test-long` what each way does.
ways = pytest.mark.parametrize(
    "names", [["thread"], pytest.param(list(STRATEGIES), marks=pytest.mark.long)], ids=["scopes", "all"]
)


@pytest.fixture(scope="module")
def alone() -> dict[Options, str]:
    """What fresh processes give under each set of options, as digests."""
    with FreshProcess() as fresh:
        sets = [(), *OPTIONS, BOTH]
        found = {options: digest(fresh.compile(replace(JOB, options=options))) for options in sets}
    assert len(set(found.values())) == len(found), "each set must matter"
    return found


@pytest.fixture(scope="module")
def hosts() -> Iterator[dict[str, Host]]:
    made: dict[str, Host] = {}
    yield made
    for host in made.values():
        host.__exit__(None, None, None)


def run(hosts: dict[str, Host], name: str, *steps: Step) -> Outcome:
    if name not in hosts:
        hosts[name] = Host(name, JOB).__enter__()
    return hosts[name].run(steps)


class Case(NamedTuple):
    """A program over a way. `gives`: the options that each look shows. `changed`: those of the process."""

    name: str
    steps: Program
    gives: tuple[Options, ...] = ()
    waiting: tuple[int, ...] = ()
    changed: tuple[str, ...] | None = None


def enter(thread: int, options: Options) -> Step:
    return Step(thread, "enter", options)


def compile_under(*sets: Options) -> Program:
    return tuple(Step(0, "compile", options) for options in sets)


NOT_AS_GIVEN = ("save-restore", "library-options", "library-options-default", "once")
TOOL = Step(0, "tool", UNROLLED)
TWICE = ((), *OPTIONS, ()) * 2
# Threads, nested scopes and strangers. The last option is what the bystander sets.
APART: Program = (
    *(enter(0, WIDE), enter(1, NARROW), Step(BYSTANDER, "plain"), Step(0, "compile"), Step(1, "compile")),
    *(enter(0, UNROLLED), Step(0, "compile"), Step(1, "leave"), Step(1, "task"), Step(0, "fail")),
    *(Step(0, "task"), Step(0, "die"), Step(0, "compile"), Step(BYSTANDER, "set", INTEL), Step(0, "compile")),
)
# `x86-asm-syntax` is read where a target's description of assembly is made, without a context.
WITHOUT_CONTEXT: Program = (
    *(enter(0, WIDE), Step(0, "compile", INTEL), Step(1, "compile", UNROLLED), Step(BYSTANDER, "plain")),
    *(Step(BYSTANDER, "set", INTEL), Step(BYSTANDER, "set", NARROW)),
    *(Step(1, "compile"), Step(1, "compile", INTEL)),
)
# Under XLA's lock thread 1 waits until thread 0 has left, and leaving puts nothing back.
OF_XLA: Program = (
    *(enter(0, WIDE), enter(1, NARROW), Step(1, "compile"), Step(0, "compile"), Step(0, "task")),
    *(Step(BYSTANDER, "plain"), Step(0, "leave")),
)
# Under Triton's the task shares, what waits is not overtaken, and the last user puts the defaults back.
OF_TRITON: Program = (
    *(Step(BYSTANDER, "set", WIDE), enter(0, UNROLLED), Step(0, "task"), enter(1, NARROW)),
    *(Step(1, "compile"), Step(0, "leave"), Step(1, "leave"), Step(0, "compile")),
)
CASES = [
    *(Case(name, compile_under(*TWICE), TWICE) for name in STRATEGIES if name not in NOT_AS_GIVEN),
    *(
        Case(name, APART, ((), WIDE, NARROW, BOTH, (), WIDE, (), ()), changed=("x86-asm-syntax",))
        for name in ("thread", "llvm-context")
    ),
    *(
        Case(name, (enter(0, WIDE), TOOL, Step(0, "compile")), (UNROLLED, WIDE))
        for name in ("thread", "llvm-context", "process-forkserver")
    ),
    # LLVM asks whether `unroll-count` was given at all, so TVM's way sets it to no effect.
    Case("save-restore", compile_under(UNROLLED, WIDE), ((), WIDE)),
    # The first options of a process stay.
    Case("once", (*compile_under(WIDE), Step(1, "compile", NARROW), Step(0, "compile")), (WIDE,) * 3),
    Case("once", compile_under((), WIDE), ((), ())),
    Case("library-options", WITHOUT_CONTEXT, (WIDE, UNROLLED, (), INTEL, INTEL)),
    Case("library-options-default", WITHOUT_CONTEXT, (WIDE, UNROLLED, (), (), ())),
    Case("exclusive", OF_XLA, (NARROW, WIDE, WIDE, WIDE), changed=("force-vector-width",)),
    Case("exclusive-triton", OF_TRITON, (BOTH, NARROW, ()), changed=()),
    # Under Triton's lock a tool waits for scopes, and for nothing else.
    Case("exclusive-triton", (TOOL, *compile_under(WIDE)), (UNROLLED, WIDE)),
    Case("exclusive-triton", (enter(0, WIDE), TOOL), waiting=(1,)),
    # A task does not join while thread 2 waits to switch.
    Case("exclusive-triton", (enter(0, WIDE), enter(1, NARROW), Step(0, "task")), waiting=(1, 2)),
    # Under a lock a scope inside another one waits for itself.
    *(
        Case(name, (enter(0, WIDE), enter(0, NARROW), Step(0, "compile")), waiting=(1, 2))
        for name in ("exclusive", "exclusive-triton")
    ),
]


@ways
def test_programs_give_what_their_way_says(
    hosts: dict[str, Host], alone: dict[Options, str], names: list[str]
) -> None:
    for case in CASES:
        if case.name not in names:
            continue
        outcome = run(hosts, case.name, *case.steps)
        assert (outcome.death, outcome.waiting) == ("", case.waiting), case
        wanted = [(alone[options], "") for options in case.gives]
        assert [(each.digest, each.error) for each in outcome.seen] == wanted, case
        assert case.changed in (None, outcome.changed), case


@ways
def test_a_misspelt_option_is_an_error_or_ends_what_it_is_known_to_end(
    hosts: dict[str, Host], alone: dict[Options, str], names: list[str]
) -> None:
    for name in names:
        outcome = run(hosts, name, *compile_under(("-unroll-cout=4",), ()))
        if name in ("exclusive", "once"):
            assert "exited with status 1" in outcome.death, name
            assert not outcome.seen, name
            continue
        misspelt, after = outcome.seen
        assert after.digest == alone[()], name
        if name == "exclusive-triton":
            assert misspelt.digest == alone[()], "which ignores it"
        else:
            assert "unroll-cout" in misspelt.error or "unroll-count" in misspelt.error, name


# Properties


@pytest.mark.long
def test_every_property_holds_for_scopes() -> None:
    with Judge("thread", JOB, OPTIONS, seed=7) as judge:
        found = [judge.judge(name, programs=8, seconds=60) for name in PROPERTIES]
    assert [each for each in found if not each.holds or each.programs < 3] == []


# The command


@pytest.mark.long
def test_the_command() -> None:
    words = ["--strategies", "thread", "exclusive", "--properties", "nesting", "misspelling"]
    lines = output_of(sys.executable, "-m", "evidence", "compare", *words, "--programs", "6").splitlines()
    assert lines[0].startswith("thread: 2 of 2 hold (")
    assert lines[1].startswith("exclusive: 0 of 2 hold (")
    assert lines[2].startswith("  nesting does not hold (")
    assert any("it waits for ever" in line for line in lines)
    assert any(line.startswith("  misspelling does not hold (") for line in lines)
