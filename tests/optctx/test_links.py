"""Stamps: what a module was compiled with stays with it, and what is no stamp of ours is a clear error.

`check_link`: every option on which modules, or modules and the link step, differ; and nothing else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import getfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llvmlite import binding

from optctx import (
    OptctxError,
    Option,
    OptionContext,
    OptionValueError,
    check_link,
    current,
    registry,
    run_passes,
    stamp,
    travelling,
)
from optctx.errors import LinkMismatchError
from optctx.testing.strategies import own_name
from optctx.values import CLASSES
from tests.support.alone import alone
from tests.support.each_instruction import interrupt_at
from tests.support.examples import examples
from tests.support.ir_texts import CALLS
from tests.support.links_modules import (
    context_of,
    linked,
    module_of,
    noted,
    stamped,
    through_bitcode,
    through_text,
)
from tests.support.option_values import one


def after(passes: str, module: binding.ModuleRef) -> binding.ModuleRef:
    run_passes(module, passes)
    return module


WAYS: dict[str, Callable[[binding.ModuleRef], binding.ModuleRef]] = {
    "as it is": lambda module: module,
    "clone": lambda module: module.clone(),
    "linked": linked,
    "linked into another": lambda module: linked(module_of("main.c"), module),
    "linked twice": lambda module: linked(stamped("main.c", unroll_count=4), module),
    "stripped": partial(after, "strip,strip-dead-debug-info,globaldce,deadargelim,mergefunc,internalize"),
    "optimized": partial(after, "default<O3>"),
    "linked with LTO": partial(after, "lto-pre-link<O2>,lto<O2>"),
}


def test_the_options_come_back() -> None:
    for way, change in WAYS.items():
        module = module_of("a.c", body=CALLS)
        stamp(module, context_of({"unroll-count": 4}))
        there = change(module)
        there.verify()
        found = OptionContext.from_module(there, trust=CLASSES)
        assert found == context_of({"unroll-count": 4}), way
        assert found.args() == ["-unroll-count=4"], way


@pytest.mark.llvm22
@examples(40)
@example([], through_bitcode)  # which leaves a stamp as well
@given(st.lists(st.deferred(one), max_size=6), st.sampled_from([through_bitcode, through_text]))
def test_options_of_every_kind_come_back(
    drawn: list[tuple[Option, object]], through: Callable[[binding.ModuleRef], binding.ModuleRef]
) -> None:
    context = context_of(dict({own_name(option): (option.name, value) for option, value in drawn}.values()))
    module = module_of("a.c")
    stamp(module, context)
    module.verify()
    found = OptionContext.from_module(through(module), trust=CLASSES)
    assert found == context
    assert found.diff(context) == {}
    assert found.overrides == context.overrides


@alone
def test_all_layers_of_a_context_are_stamped_and_one_without_a_text_form_is_an_error() -> None:
    binding.set_option("", "-unroll-count=3")
    module = module_of("a.c")
    stamp(module, current())
    found = OptionContext.from_module(module)
    assert found == current()
    assert found.args() == ["-unroll-count=3"]
    base = OptionContext({"slp-threshold": 4})
    with OptionContext({"inline-threshold": 9, "regbankselect-fast": True}, base=base) as context:
        stamp(module, current())
    found = OptionContext.from_module(module)
    assert found == context
    assert len(found.overrides) == 4
    binding.set_option("", "-x86-align-branch=jcc")
    before = str(module)
    with pytest.raises(OptionValueError, match=r"cannot pickle or stamp.*'x86-align-branch'"):
        stamp(module, current())
    assert str(module) == before


def test_the_last_stamp_counts_and_replaces_those_of_the_linker() -> None:
    both = linked(stamped("a.c", unroll_count=4), stamped("b.c", unroll_count=8))
    with pytest.raises(LinkMismatchError):
        OptionContext.from_module(both)
    stamp(both, context_of({"unroll-count": 2}))
    stamp(both, context_of({"unroll-count": 3}))
    assert OptionContext.from_module(through_bitcode(both)) == context_of({"unroll-count": 3})
    assert str(both).count('!"unroll-count"') == 1


def test_stamps_that_contradict_each_other_are_an_error_that_names_module_and_option() -> None:
    both = linked(stamped("a.c", unroll_count=0), module_of("b.c"), stamped("c.c", inline_threshold=3))
    with pytest.raises(
        LinkMismatchError, match=r"'a\.c' and module 'c\.c'.* 'inline-threshold', 'unroll-count'; compile"
    ):
        OptionContext.from_module(both)
    same = [stamped("a.c", unroll_count="4"), stamped("b.c", unroll_count="0x4")]  # in other words
    assert OptionContext.from_module(linked(*same)) == context_of({"unroll-count": 4})


# Operands as text; option names and values that mean something among them.
TEXTS = st.sampled_from(
    ["1", "unroll-count", "4", "stats", "true", "print-after", "help", "version"]
) | st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'), max_size=8)
NAMES = st.deferred(lambda: st.sampled_from(sorted(registry())))


@examples(40)
@given(st.dictionaries(NAMES, st.lists(TEXTS | st.none(), max_size=3), max_size=3))
def test_any_texts_of_any_options_are_read_or_refused(options: dict[str, list[str | None]]) -> None:
    nodes = [
        ", ".join([f'!"{name}"', *("null" if text is None else f'!"{text}"' for text in texts)])
        for name, texts in options.items()
    ]
    module = noted('!0 = !{!"1", !"odd.c"' + "".join(f", !{{{node}}}" for node in nodes) + "}")
    before = str(module)
    with suppress(OptctxError):
        OptionContext.from_module(module)
    with suppress(OptctxError):
        str(check_link([module, stamped("a.c", unroll_count=4)]))
    assert str(module) == before


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
def test_an_interrupt_leaves_the_module_as_it_was_or_with_all_that_is_written(step: int) -> None:
    """At each `step`th instruction, and each of the last ones, where LLVM is called to write."""
    places = (os.path.dirname(getfile(travelling)),)
    with module_of("a.c") as module:
        stamp(module, context_of({"unroll-count": 4}))

        def interrupted(write: Callable[[binding.ModuleRef], object], number: int) -> tuple[str, int]:
            with module.clone() as copy:
                reached = interrupt_at(partial(write, copy), number, places)
                return str(copy), reached

        def write(module: binding.ModuleRef) -> None:
            stamp(module, context_of({"unroll-count": 9, "inline-threshold": 1}))

        whole, last = interrupted(write, sys.maxsize)
        numbers = {*range(1, last, step), *range(last - 60, last + 1)}
        found = {interrupted(write, number)[0] for number in numbers}
        assert found == {str(module), whole}


# check_link

AGREE = "no option differs among 2 stamped"


def test_modules_that_agree_are_consistent_and_unstamped_ones_count_on_request() -> None:
    modules = [stamped("a.c", unroll_count=4), stamped("b.c", unroll_count="0x4")]
    assert str(check_link(modules, context_of({"unroll-count": 4}), require_stamps=True)) == AGREE
    assert not check_link(iter(modules))
    report = check_link([*modules, module_of("c.c")])
    assert (bool(report), report.unstamped) == (False, ("c.c",))
    assert str(report).splitlines() == [AGREE, "unstamped: c.c"]
    assert check_link([*modules, module_of("c.c")], require_stamps=True)


def test_every_option_that_differs_is_named_with_who_says_what() -> None:
    modules = [
        stamped("a.c", unroll_count=4, inline_threshold=9),
        stamped("b.c", unroll_count=8, inline_threshold=9),
        stamped("c.c", unroll_count=4, inline_threshold=9, print_after=["x", "y"]),
    ]
    report = check_link(modules)
    count, after = sorted(report, key=lambda mismatch: mismatch.option, reverse=True)
    assert count == ("unroll-count", (("4", ("a.c", "c.c")), ("8", ("b.c",))))
    assert after == ("print-after", (("not given", ("a.c", "b.c")), ("x, y", ("c.c",))))
    assert str(report).splitlines() == [
        "print-after   not given  a.c, b.c",
        "              x, y       c.c",
        "unroll-count  4          a.c, c.c",
        "              8          b.c",
    ]


def test_a_linked_module_takes_part_with_all_its_parts() -> None:
    both = linked(stamped("a.c", unroll_count=4), stamped("b.c", unroll_count=8))
    both.name = "both.bc"
    [mismatch] = check_link([both, stamped("c.c", unroll_count=8)])
    assert [modules for _, modules in mismatch.said] == [("both.bc (a.c)",), ("both.bc (b.c)", "c.c")]


def test_options_of_another_llvm_are_compared_as_text() -> None:
    nodes = '!0 = !{!"1", !"new.c", !1, !2, !3}\n!1 = !{!"no-such", !"5"}\n!2 = !{!"unroll-count", !"auto"}\n'
    new = noted(nodes + '!3 = !{!"print-after"}')  # a list that was not given
    assert not check_link([new, new])
    assert list(check_link([new, stamped("a.c", unroll_count=4)])) == [
        ("no-such", (("5", ("new.c",)), ("not given", ("a.c",)))),
        ("unroll-count", (("auto", ("new.c",)), ("4", ("a.c",)))),
    ]


def test_an_option_is_compared_whichever_of_its_names_was_given() -> None:
    alias = noted('!0 = !{!"1", !"new.c", !1}\n!1 = !{!"aarch64-stack-hazard-size", !"8"}')
    assert not check_link([alias, stamped("a.c", aarch64_streaming_hazard_size=8)])


@examples(20)
@given(st.lists(st.deferred(one), max_size=3), st.lists(st.deferred(one), max_size=3))
def test_it_reports_exactly_what_tells_contexts_apart(
    first: list[tuple[Option, object]], second: list[tuple[Option, object]]
) -> None:
    contexts = []
    modules: list[binding.ModuleRef] = []
    for name, drawn in (("a.c", first), ("b.c", second)):
        given_as = {own_name(option): (option.name, value) for option, value in drawn}
        contexts.append(context_of(dict(given_as.values())))
        modules.append(module_of(name))
        stamp(modules[-1], contexts[-1])
    a, b = contexts
    for report in (check_link(modules), check_link(modules[:1], b)):
        assert {mismatch.option for mismatch in report} == set(a.diff(b))
        assert bool(report) == (a != b)
