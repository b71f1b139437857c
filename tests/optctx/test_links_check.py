"""`check_link`: every option on which modules, or modules and the link step, differ; and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from llvmlite import binding

from optctx import Option, check_link, stamp
from optctx.testing.strategies import own_name
from tests.support.examples import examples
from tests.support.links_modules import context_of, linked, module_of, noted, stamped
from tests.support.option_values import one


def test_modules_that_agree_are_consistent() -> None:
    modules = [stamped("a.c", unroll_count=4), stamped("b.c", unroll_count="0x4")]
    report = check_link(modules, context_of({"unroll-count": 4}), require_stamps=True)
    assert not report
    assert list(report) == []
    assert str(report) == "no option differs among 2 stamped"
    assert not check_link([])
    assert not check_link(iter(modules))


def test_every_option_that_differs_is_named_with_who_says_what() -> None:
    modules = [
        stamped("a.c", unroll_count=4, inline_threshold=9),
        stamped("b.c", unroll_count=8, inline_threshold=9),
        stamped("c.c", unroll_count=4, inline_threshold=9, print_after=["x", "y"]),
    ]
    report = check_link(modules)
    assert report
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
    [mismatch] = check_link([both])
    assert [modules for _, modules in mismatch.said] == [("a.c",), ("b.c",)]
    both.name = "both.bc"
    [mismatch] = check_link([both, stamped("c.c", unroll_count=8)])
    assert [modules for _, modules in mismatch.said] == [("both.bc (a.c)",), ("both.bc (b.c)", "c.c")]


def test_an_unstamped_module_counts_only_on_request() -> None:
    modules = [stamped("a.c", unroll_count=4), module_of("b.c")]
    report = check_link(modules)
    assert not report
    assert report.unstamped == ("b.c",)
    assert str(report).splitlines() == ["no option differs among 1 stamped", "unstamped: b.c"]
    assert check_link(modules, require_stamps=True)


def test_options_of_another_llvm_are_compared_as_text() -> None:
    nodes = '!0 = !{!"1", !"new.c", !1, !2, !3}\n!1 = !{!"no-such", !"5"}\n!2 = !{!"unroll-count", !"auto"}\n'
    new = noted(nodes + '!3 = !{!"print-after"}')  # a list that was not given
    assert not check_link([new, new])
    assert list(check_link([new, stamped("a.c", unroll_count=4)])) == [
        ("no-such", (("5", ("new.c",)), ("not given", ("a.c",)))),
        ("unroll-count", (("auto", ("new.c",)), ("4", ("a.c",)))),
    ]


@examples(40)
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
