"""Stamps that nobody of us wrote: a clear error, and nothing changed."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding

from optctx import (
    OptctxError,
    OptionContext,
    OptionValueError,
    check_link,
    current,
    registry,
    stamp,
)
from tests.support.alone import alone
from tests.support.links_modules import context_of, noted, stamped
from tests.support.scopes import process_state


def test_metadata_that_is_no_stamp_stays_an_error_until_the_module_is_stamped() -> None:
    for nodes in ("!0 = !{}", "!0 = distinct !{!0, !0, !0}", '!0 = !DIFile(filename: "a.c", directory: "/")'):
        module = noted(nodes)
        before = str(module)
        for read in (OptionContext.from_module, lambda module: check_link([module])):
            with pytest.raises(OptctxError):
                read(module)
        assert str(module) == before
        stamp(module, context_of({"unroll-count": 4}))
        assert OptionContext.from_module(module) == context_of({"unroll-count": 4})


@alone
def test_a_context_without_a_text_form_leaves_the_module_as_it_was() -> None:
    binding.set_option("", "-x86-align-branch=jcc")
    module = stamped("a.c", unroll_count=4)
    before = str(module)
    with pytest.raises(OptionValueError) as caught:
        stamp(module, current())
    assert "cannot pickle or stamp" in str(caught.value)
    assert "'x86-align-branch'" in str(caught.value)
    assert str(module) == before


# Operands as text; option names and values that mean something among them.
TEXTS = st.sampled_from(
    ["1", "unroll-count", "4", "stats", "true", "print-after", "help", "version"]
) | st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'), max_size=8)
LEAVES = TEXTS.map(lambda text: f'!"{text}"') | st.sampled_from(["null", "i32 1", '!"\\ff\\00"', "!0", "!9"])
NODES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4).map(lambda each: f"!{{{', '.join(each)}}}")
)


@settings(max_examples=60)
@given(st.lists(NODES, max_size=5))
def test_any_metadata_is_read_or_refused(operands: list[str]) -> None:
    module = noted(f"!0 = distinct !{{{', '.join(operands)}}}\n!9 = !{{}}")
    read_or_refuse(module)


NAMES = st.deferred(lambda: st.sampled_from(sorted(registry())))


@settings(max_examples=80)
@given(st.dictionaries(NAMES, st.lists(TEXTS | st.none(), max_size=3), max_size=3))
def test_any_texts_of_any_options_are_read_or_refused(options: dict[str, list[str | None]]) -> None:
    nodes = [
        ", ".join([f'!"{name}"', *("null" if text is None else f'!"{text}"' for text in texts)])
        for name, texts in options.items()
    ]
    read_or_refuse(noted('!0 = !{!"1", !"odd.c"' + "".join(f", !{{{node}}}" for node in nodes) + "}"))


def read_or_refuse(module: binding.ModuleRef) -> None:
    """Whatever its stamps say: a context that can be entered, or an error of ours; nothing else happens."""
    before = str(module)
    try:
        context = OptionContext.from_module(module)
    except OptctxError:
        pass
    else:
        assert not check_link([module], context)
    with suppress(OptctxError):
        str(check_link([module, stamped("a.c", unroll_count=4)]))
    assert str(module) == before


def test_reading_changes_nothing_in_the_process(capfd: pytest.CaptureFixture[str]) -> None:
    before = process_state()
    for options in ('!{!"stats", !"true"}', '!{!"help", null}', '!{!"opt-bisect-limit", !"3"}'):
        check_link([noted(f'!0 = !{{!"1", !"a.c", {options}}}')], context_of({}))
    assert process_state() == before
    assert capfd.readouterr() == ("", "")
