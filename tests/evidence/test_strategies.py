"""The ways of giving options to LLVM, side by side: what each does, and what programs over it show."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from evidence.main import main
from evidence.strategies import STRATEGIES, open_strategy
from evidence.strategies.arguments import merged
from evidence.strategies.figures import figures_of
from evidence.strategies.host import Host
from evidence.strategies.judging import Judge
from evidence.strategies.kernel import KERNEL, OPTIONS
from evidence.strategies.program import BYSTANDER, Outcome, Program, Step, digest, expected
from evidence.strategies.properties import PROPERTIES, valid
from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError, OptionValueError, ScopeError
from tests.support.processes import run_python
from tests.support.rows import rows

JOB = Job(KERNEL, emit="assembly")
WIDE, NARROW, UNROLLED, INTEL = OPTIONS[1], OPTIONS[0], OPTIONS[2], OPTIONS[3]
BOTH = merged((*WIDE, *UNROLLED))
Options = tuple[str, ...]
LLVMLITES = [name for name in STRATEGIES if name != "command-line"]
QUICK = ("thread", "process-forkserver")  # one that compiles in its process, and one that does not
pytestmark = pytest.mark.redirected


def ways(*names: str) -> list[object]:
    """As parameters; `make test-long` has those that are not QUICK."""
    return [pytest.param(name, marks=[pytest.mark.long] * (name not in QUICK)) for name in names]


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


def digests(outcome: Outcome) -> list[str]:
    unexpected = outcome.death, outcome.waiting, [each.error for each in outcome.seen if each.error]
    assert unexpected == ("", (), [])
    return [each.digest for each in outcome.seen]


def enter(thread: int, options: Options) -> Step:
    return Step(thread, "enter", options)


NOT_AS_GIVEN = ("save-restore", "library-options", "library-options-default", "once")


@pytest.mark.parametrize("name", ways(*(name for name in LLVMLITES if name not in NOT_AS_GIVEN)))
def test_options_do_what_they_do_on_a_command_line(
    hosts: dict[str, Host], alone: dict[Options, str], name: str
) -> None:
    for _ in range(2):  # what a worker is kept for
        steps = [Step(0, "compile", options) for options in ((), *OPTIONS, ())]
        assert digests(run(hosts, name, *steps)) == [alone[options] for options in ((), *OPTIONS, ())]


@pytest.mark.parametrize("name", ways("thread", "llvm-context", "private-copy"))
def test_threads_nested_scopes_and_strangers_do_not_meet(
    hosts: dict[str, Host], alone: dict[Options, str], name: str
) -> None:
    seen = run(
        hosts,
        name,
        enter(0, WIDE),
        enter(1, NARROW),
        Step(BYSTANDER, "plain"),
        Step(0, "compile"),
        Step(1, "compile"),
        enter(0, UNROLLED),
        Step(0, "compile"),
        Step(1, "leave"),
        Step(1, "task"),
        Step(0, "fail"),
        Step(0, "task"),
        Step(0, "die"),
        Step(0, "compile"),
        Step(BYSTANDER, "set", INTEL),
        Step(0, "compile"),
    )
    assert digests(seen) == [alone[each] for each in ((), WIDE, NARROW, BOTH, (), WIDE, (), ())]
    assert seen.changed == ("x86-asm-syntax",), "which the bystander has set"


@pytest.mark.parametrize("name", ways("thread", "llvm-context", "private-copy", "process-forkserver"))
def test_a_tool_inside_leaves_its_caller_alone(
    hosts: dict[str, Host], alone: dict[Options, str], name: str
) -> None:
    seen = run(hosts, name, enter(0, WIDE), Step(0, "tool", UNROLLED), Step(0, "compile"))
    assert digests(seen) == [alone[UNROLLED], alone[WIDE]]


@pytest.mark.parametrize("name", ways(*LLVMLITES))
def test_a_misspelt_option_is_an_error_or_ends_what_it_is_known_to_end(
    hosts: dict[str, Host], alone: dict[Options, str], name: str
) -> None:
    outcome = run(hosts, name, Step(0, "compile", ("-unroll-cout=4",)), Step(0, "compile"))
    if name in ("exclusive", "exclusive-comgr", "once", "private-copy"):
        assert "exited with status 1" in outcome.death
        assert not outcome.seen
    elif name == "exclusive-triton":
        assert digests(outcome) == [alone[()]] * 2, "which ignores it"
    else:
        refused, after = outcome.seen
        assert "unroll-cout" in refused.error or "unroll-count" in refused.error
        assert after.digest == alone[()]


# What is told of single ways: a program, and what it gives


@pytest.mark.long
@rows(
    ("name", "steps", "gives"),
    [
        # LLVM asks whether `unroll-count` was given at all, so TVM's way sets it to no effect.
        ("save-restore", (Step(0, "compile", UNROLLED), Step(0, "compile", WIDE)), ((), WIDE)),
        # The first options of a process stay.
        ("once", (Step(0, "compile", WIDE), Step(1, "compile", NARROW), Step(0, "compile")), (WIDE,) * 3),
        ("once", (Step(0, "compile"), Step(0, "compile", WIDE)), ((), ())),
        # Under Triton's lock a tool waits for scopes, and for nothing else.
        ("exclusive-triton", (Step(0, "tool", UNROLLED), Step(0, "compile", WIDE)), (UNROLLED, WIDE)),
        ("exclusive-comgr", (Step(0, "task"),), ((),)),
    ],
)
def test_what_a_program_gives(
    hosts: dict[str, Host],
    alone: dict[Options, str],
    name: str,
    steps: tuple[Step, ...],
    gives: tuple[Options, ...],
) -> None:
    assert digests(run(hosts, name, *steps)) == [alone[options] for options in gives]


@pytest.mark.long
@rows(
    ("name", "steps", "waiting"),
    [
        # Under a lock a scope inside another one waits for itself.
        *(
            (name, (enter(0, WIDE), enter(0, NARROW), Step(0, "compile")), (1, 2))
            for name in ("exclusive", "exclusive-comgr", "exclusive-triton")
        ),
        # Who has Comgr's lock alone cannot hand work over.
        ("exclusive-comgr", (enter(0, WIDE), Step(0, "task")), (1,)),
        ("exclusive-triton", (enter(0, WIDE), Step(0, "tool", UNROLLED)), (1,)),
        # A task does not join while thread 2 waits to switch.
        ("exclusive-triton", (enter(0, WIDE), enter(1, NARROW), Step(0, "task")), (1, 2)),
    ],
)
def test_what_waits_for_ever(
    hosts: dict[str, Host], name: str, steps: tuple[Step, ...], waiting: tuple[int, ...]
) -> None:
    outcome = run(hosts, name, *steps)
    assert outcome.waiting == waiting
    assert not outcome.seen


@pytest.mark.long
@pytest.mark.parametrize("name", ["library-options", "library-options-default"])
def test_library_options_reach_the_readers_that_have_a_context(
    hosts: dict[str, Host], alone: dict[Options, str], name: str
) -> None:
    """`x86-asm-syntax` is read where a target's description of assembly is made, without a context."""
    others = INTEL if name == "library-options" else ()
    seen = run(
        hosts,
        name,
        enter(0, WIDE),
        Step(0, "compile", INTEL),
        Step(1, "compile", UNROLLED),
        Step(BYSTANDER, "plain"),
        Step(BYSTANDER, "set", INTEL),
        Step(BYSTANDER, "set", NARROW),
        Step(1, "compile"),
        Step(1, "compile", INTEL),
    )
    assert digests(seen) == [alone[WIDE], alone[UNROLLED], alone[()], alone[others], alone[others]]


@pytest.mark.long
def test_library_options_need_a_process_of_their_own() -> None:
    run_python("""
    import pytest
    from optctx import OptionContext, OptctxError
    from evidence.strategies import open_strategy

    with open_strategy("library-options") as strategy:
        sites = strategy.sites
        assert sites.with_context > sites.without > 100, sites
    with open_strategy("library-options"):
        pass
    with pytest.raises(OptctxError, match="models another LLVM in a process of its own"):
        open_strategy("library-options-default").__enter__()
    """)
    run_python("""
    import pytest
    from optctx import OptionContext, OptctxError
    from evidence.strategies import open_strategy

    OptionContext()
    with pytest.raises(OptctxError, match="models another LLVM in a process of its own"):
        open_strategy("library-options").__enter__()
    """)


@pytest.mark.long
def test_under_xlas_lock_other_options_wait_and_equal_ones_do_not(
    hosts: dict[str, Host], alone: dict[Options, str]
) -> None:
    outcome = run(
        hosts,
        "exclusive",
        enter(0, WIDE),
        enter(1, NARROW),
        Step(1, "compile"),  # after thread 1 has left
        Step(0, "compile"),
        Step(0, "task"),
        Step(BYSTANDER, "plain"),
        Step(0, "leave"),
    )
    assert digests(outcome) == [alone[NARROW], alone[WIDE], alone[WIDE], alone[WIDE]]
    assert outcome.changed == ("force-vector-width",), "leaving puts nothing back"


@pytest.mark.long
def test_under_tritons_lock_the_last_user_puts_defaults_back(
    hosts: dict[str, Host], alone: dict[Options, str]
) -> None:
    """And a set that waits is not overtaken by more users of the present one."""
    outcome = run(
        hosts,
        "exclusive-triton",
        Step(BYSTANDER, "set", WIDE),
        enter(0, UNROLLED),
        Step(0, "task"),  # shares
        enter(1, NARROW),
        Step(1, "compile"),  # after thread 1 has left, WIDE being lost
        Step(0, "leave"),
        Step(1, "leave"),
        Step(0, "compile"),
    )
    assert digests(outcome) == [alone[BOTH], alone[NARROW], alone[()]]
    assert outcome.changed == ()


@pytest.mark.long
def test_copies_are_unloaded() -> None:
    run_python("""
    from pathlib import Path
    from evidence.strategies.copies import PrivateCopyStrategy
    from evidence.strategies.kernel import KERNEL, OPTIONS
    from optctx.compiling import Job

    def mapped():
        return sum("optctx-copy-" in line for line in Path("/proc/self/maps").read_text().splitlines())

    with PrivateCopyStrategy(kept=1) as strategy:
        for options in OPTIONS:
            assert strategy.compile(Job(KERNEL, options=options)).error is None
            assert strategy.loaded == 1
        one = mapped()
        assert one > 0
        with strategy.scope(OPTIONS[0]), strategy.scope(OPTIONS[1]):
            assert strategy.loaded == 3 and mapped() == 3 * one
        assert strategy.loaded == 1 and mapped() == one
        assert "cannot parse the pass pipeline" in strategy.compile(Job(KERNEL, passes="nonsense")).error
        assert "cannot read the module" in strategy.compile(Job("define")).error
    assert strategy.loaded == 0 and mapped() == 0
    """)


def test_the_command_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "no opt and llc of LLVM 17" in open_strategy("command-line").unavailable


NO_TOOLS = open_strategy("command-line").unavailable


@pytest.mark.skipif(NO_TOOLS != "", reason=NO_TOOLS)
def test_the_command_line_compiles() -> None:
    with open_strategy("command-line") as strategy:
        plain, wide = (strategy.compile(replace(JOB, options=options)) for options in ((), WIDE))
        assert plain.error is wide.error is None
        assert plain.code != wide.code
        assert "--unroll-count=4" in str(strategy.compile(replace(JOB, options=("-unroll-cout=4",))).error)


# Properties


@pytest.mark.long
def test_the_machine_of_properties_finds_what_does_not_hold_and_makes_it_small() -> None:
    with Judge("save-restore", JOB, OPTIONS) as judge:
        assert list(judge.refused) == [INTEL]
        found = judge.judge("obeyed", programs=40, seconds=60)
        assert not found.holds
        assert 2 <= len(found.counterexample) <= 3
        assert found.counterexample[-1].endswith("expected the code of -unroll-count=2, found another one")
        isolation = judge.judge("isolation", programs=60, seconds=60)
        assert not isolation.holds
        assert len(isolation.counterexample) == 3
        assert judge.judge("nesting", programs=10, seconds=60).holds


@pytest.mark.long
def test_every_property_holds_for_scopes() -> None:
    with Judge("thread", JOB, OPTIONS, seed=7) as judge:
        found = [judge.judge(name, programs=8, seconds=60) for name in PROPERTIES]
    assert [each for each in found if not each.holds or each.programs < 3] == []


def test_what_a_program_has_to_give() -> None:
    program: Program = (
        enter(0, WIDE),
        enter(0, UNROLLED),
        Step(0, "compile", NARROW),
        Step(0, "tool", INTEL),
        Step(0, "leave"),
        Step(0, "task"),
        Step(1, "compile"),
        Step(BYSTANDER, "set", INTEL),
        Step(BYSTANDER, "plain"),
        Step(0, "die"),
        Step(0, "compile"),
    )
    assert expected(program) == {2: merged((*NARROW, *UNROLLED)), 3: INTEL, 5: WIDE, 6: (), 8: INTEL, 10: ()}


def test_scopes_are_left_only_where_one_is_entered_and_nest_where_they_may() -> None:
    drawn = [Step(0, "leave"), enter(0, WIDE), enter(0, NARROW), Step(0, "compile", UNROLLED)]
    assert valid(PROPERTIES["nesting"], drawn) == (*drawn[1:],)
    assert valid(PROPERTIES["isolation"], drawn) == (drawn[1], Step(0, "compile"))
    ending = (Step(0, "die"), Step(BYSTANDER, "plain"), Step(1, "compile"))
    assert valid(PROPERTIES["thread-death"], drawn)[2:] == ending


def test_arguments() -> None:
    assert merged(["-a=1", "--b", "-a=2"]) == ("-a=2", "-b")
    with pytest.raises(OptionValueError, match=r"expected an option such as .*, found 'file"):
        merged(["file.ll"])
    with pytest.raises(ScopeError, match="cannot leave a scope of 'process-cold': this thread is in none"):
        open_strategy("process-cold").leave()
    with pytest.raises(OptctxError, match="no strategy is called 'threads'; did you mean thread"):
        open_strategy("threads")


@pytest.mark.long
@pytest.mark.parametrize("name", ["thread", "save-restore"])
def test_figures(name: str) -> None:
    sets = [(f"-unroll-count={count}",) for count in (2, 3, 4)]
    figures = figures_of(name, Job(KERNEL), sets, threads=2, seconds=0.05)
    assert list(figures.different) == list(figures.equal) == [1, 2]
    # Times and rates are measured apart, and are of the same compilation: one tells the other, roughly.
    rates = (*figures.different.values(), *figures.equal.values())
    assert all(0.05 < rate * figures.later < 20 for rate in rates), figures
    assert figures.first > figures.later / 20
    assert figures.start_up > 0
    assert (figures.memory is None) == (name == "save-restore")


# The command


@pytest.mark.long
def test_the_command() -> None:
    words = ["--strategies", "thread", "exclusive", "--properties", "nesting", "misspelling"]
    words += ["--programs", "6", "--no-figures", "--format", "json"]
    command = [sys.executable, "-m", "evidence", "compare", "-", *words]
    done = subprocess.run(command, input=KERNEL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["finished"] is True
    thread, exclusive = found["strategies"]
    assert (thread["strategy"], exclusive["strategy"]) == ("thread", "exclusive")
    assert thread["properties"]["nesting"]["holds"]
    assert thread["properties"]["nesting"]["counterexample"] is None
    broken = exclusive["properties"]["nesting"]
    assert not broken["holds"]
    assert "it waits for ever" in broken["counterexample"][-1]
    assert not exclusive["properties"]["misspelling"]["holds"]


@rows(
    ("arguments", "message"),
    [
        (["--strategies", "threads"], "no strategy is called 'threads'; did you mean thread"),
        (["--properties", "isolaton"], "no property is called 'isolaton'; did you mean isolation?"),
    ],
)
def test_bad_input_of_the_command(
    arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "-", *arguments]) == 2
    said = capfd.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_without_hypothesis_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evidence.strategies.drawing", None)
    judge = Judge("process-cold", JOB, [WIDE])
    with pytest.raises(OptctxError, match=r"pip install 'hypothesis>=6\.136'"):
        judge.judge("obeyed")
