"""Stamps that nobody of us wrote, and arguments that are none: a clear error, and nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from links_modules import context_of, module_of, noted, stamped
from llvmlite import binding
from support import process_state, run_python

from optctx import (
    OptctxError,
    OptionContext,
    OptionTypeError,
    OptionValueError,
    ProcessWideOptionError,
    UnknownOptionError,
    check_link,
    registry,
    stamp,
)
from optctx.trust import CLASSES


def closed() -> binding.ModuleRef:
    module = module_of("a.c")
    module.close()
    return module


BAD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "stamp text": (lambda: stamp("a.c", context_of({})), TypeError, "found IR as text"),  # type: ignore[arg-type]
    "stamp nothing": (lambda: stamp(None, context_of({})), TypeError, "found NoneType"),
    "stamp a closed module": (lambda: stamp(closed(), context_of({})), OptctxError, "module is closed"),
    "stamp with a dict": (
        lambda: stamp(module_of("a.c"), {"unroll-count": 4}),  # type: ignore[arg-type]
        OptionTypeError,
        "with an OptionContext, found {'unroll-count': 4}",
    ),
    "from text": (lambda: OptionContext.from_module("a.c"), TypeError, "found IR as text"),
    "from a closed module": (lambda: OptionContext.from_module(closed()), OptctxError, "module is closed"),
    "from an unstamped module": (
        lambda: OptionContext.from_module(module_of("a.c")),
        OptctxError,
        r"'a\.c': it carries no stamp; call optctx\.stamp",
    ),
    "from one without a name": (
        lambda: OptionContext.from_module(module_of("<string>")),
        OptctxError,
        "a module without a name: it carries no stamp",
    ),
    "with a mode that is none": (
        lambda: OptionContext.from_module(stamped("a.c", unroll_count=4), process_wide="x"),  # type: ignore[arg-type]
        OptionTypeError,
        'process_wide is "refuse" or "exclusive"',
    ),
    "check a module": (lambda: check_link(stamped("a.c")), OptionTypeError, "modules in a list"),
    "check text": (lambda: check_link("a.c"), OptionTypeError, "modules in a list"),  # type: ignore[arg-type]
    "check nothing": (lambda: check_link(None), OptionTypeError, "modules in a list"),  # type: ignore[arg-type]
    "check names": (lambda: check_link(["a.c"]), TypeError, "found IR as text"),
    "check a closed module": (lambda: check_link([closed()]), OptctxError, "module is closed"),
    "check against a dict": (
        lambda: check_link([], {"unroll-count": 4}),  # type: ignore[arg-type]
        OptionTypeError,
        "an OptionContext or None, found {'unroll-count': 4}",
    ),
    "check in a mode that is none": (
        lambda: check_link([], on_mismatch="switch"),  # type: ignore[arg-type]
        OptionTypeError,
        '"report" or "error", found \'switch\'',
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_one_clear_error(what: str, capfd: pytest.CaptureFixture[str]) -> None:
    call, kind, words = BAD[what]
    with pytest.raises(kind, match=words):
        call()
    assert capfd.readouterr() == ("", "")


REFUSED: dict[str, tuple[str, type[OptctxError], str]] = {
    "unknown": ('!{!"unroll-cuont", !"4"}', UnknownOptionError, "did you mean unroll-count"),
    "no value": ('!{!"unroll-count", !"many"}', OptionValueError, "'many' value invalid"),
    "no occurrence": ('!{!"unroll-count"}', OptionValueError, "without an occurrence"),
    "no value at all": ('!{!"unroll-count", null}', OptionValueError, "LLVM says"),
    "NUL": ('!{!"print-after", !"a\\00b"}', OptionValueError, "without NUL"),
    "process-wide": ('!{!"stats", !"true"}', ProcessWideOptionError, 'process_wide="exclusive"'),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_llvm_does_not_take_is_refused_with_the_modules_name(what: str) -> None:
    node, kind, words = REFUSED[what]
    with pytest.raises(kind, match=rf"module 'odd\.c': .*{words}") as raised:
        OptionContext.from_module(noted(f'!0 = !{{!"1", !"odd.c", !1}}\n!1 = {node}'), trust=CLASSES)
    assert getattr(raised.value, "name", "unroll-cuont") in ("unroll-cuont", "stats")


MALFORMED = {
    "empty": "!0 = !{}",
    "no module": '!0 = !{!"1"}',
    "no text": '!0 = !{!"1", null}',
    "a constant": '!0 = !{i32 1, !"a.c"}',
    "another format": '!0 = !{!"2", !"a.c"}',
    "an option that is text": '!0 = !{!"1", !"a.c", !"unroll-count"}',
    "an option that is null": '!0 = !{!"1", !"a.c", null}',
    "an option without a name": '!0 = !{!"1", !"a.c", !{}}',
    "an option with a number": '!0 = !{!"1", !"a.c", !{!"unroll-count", i32 4}}',
    "an option of options": '!0 = !{!"1", !"a.c", !{!"unroll-count", !{!"4"}}}',
    "an option twice": '!0 = !{!"1", !"a.c", !{!"x", !"4"}, !{!"x", !"5"}}',
    "no UTF-8": '!0 = !{!"1", !"\\ff"}',
    "itself": "!0 = distinct !{!0, !0, !0}",
    "debug information": '!0 = !DIFile(filename: "a.c", directory: "/")',
}


@pytest.mark.parametrize("what", MALFORMED)
def test_metadata_that_is_no_stamp_is_one_error_until_the_module_is_stamped(what: str) -> None:
    module = noted(MALFORMED[what])
    before = str(module)
    for read in (OptionContext.from_module, lambda module: check_link([module])):
        with pytest.raises(OptctxError, match=r"stamp of module 'odd\.c': expected !optctx\.options to hold"):
            read(module)
    assert str(module) == before
    stamp(module, context_of({"unroll-count": 4}))
    assert OptionContext.from_module(module) == context_of({"unroll-count": 4})


def test_a_context_without_a_text_form_leaves_the_module_as_it_was() -> None:
    run_python("""
        from links_modules import stamped
        from llvmlite import binding
        from optctx import OptionValueError, current, stamp
        binding.set_option("", "-x86-align-branch=jcc")
        module = stamped("a.c", unroll_count=4)
        before = str(module)
        try:
            stamp(module, current())
        except OptionValueError as error:
            assert "cannot pickle or stamp" in str(error) and "'x86-align-branch'" in str(error)
        else:
            raise AssertionError("it was stamped")
        assert str(module) == before
    """)


# Operands as text; option names and values that mean something among them.
TEXTS = st.sampled_from(
    ["1", "unroll-count", "4", "stats", "true", "print-after", "help", "version"]
) | st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'), max_size=8)
LEAVES = TEXTS.map(lambda text: f'!"{text}"') | st.sampled_from(["null", "i32 1", '!"\\ff\\00"', "!0", "!9"])
NODES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4).map(lambda each: f"!{{{', '.join(each)}}}")
)


@settings(max_examples=200)
@given(st.lists(NODES, max_size=5))
def test_any_metadata_is_read_or_refused(operands: list[str]) -> None:
    module = noted(f"!0 = distinct !{{{', '.join(operands)}}}\n!9 = !{{}}")
    read_or_refuse(module)


NAMES = st.deferred(lambda: st.sampled_from(sorted(registry())))


@settings(max_examples=300)
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
