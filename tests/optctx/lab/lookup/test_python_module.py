"""`optctx options --format python`: the registry as dataclasses, and contexts made of typed objects."""

from __future__ import annotations

import dataclasses
import keyword
import re
import sys
import types
from typing import Any, get_type_hints

import msgspec
import pytest

from optctx import OptctxError, OptionContext, OptionTypeError, UnknownOptionError, registry
from optctx.facts import Facts, OptionFacts, facts
from optctx.lab.lookup import as_python, identifiers

pytestmark = pytest.mark.usefixtures("attached")


@pytest.fixture(scope="module")
def found() -> Facts:
    return facts(readers=False)


@pytest.fixture(scope="module")
def options(found: Facts) -> list[OptionFacts]:
    return [option for option in found.options if not option.alias_of]


def run(text: str, names: dict[str, Any]) -> None:
    """As an import does, which inherits nothing of this file."""
    exec(compile(text, "declared.py", "exec", dont_inherit=True), names)


@pytest.fixture(scope="module")
def module(found: Facts) -> Any:
    made = types.ModuleType("declared_llvm_options")
    sys.modules[made.__name__] = made  # where dataclasses look types up
    run(as_python(found), made.__dict__)
    return made


def test_the_module_declares_types_help_and_defaults(
    found: Facts, options: list[OptionFacts], module: Any
) -> None:
    words = identifiers(options)
    assert len(set(words.values())) == len(options)
    assert all(word.isidentifier() and not keyword.iskeyword(word) for word in words.values())
    text = as_python(found)
    assert "import optctx" not in text
    block = text[text.index("    unroll_count:") :][:600]
    assert registry()["unroll-count"].help.split()[0] in block
    assert "Default: 0." in block
    hints = get_type_hints(module.ScalarOptsOptions)
    assert hints["unroll_count"] == (int | None)
    choices = next(option for option in options if option.type == "enum" and option.library == "X86Desc")
    hint = get_type_hints(module.X86DescOptions)[words[choices.name]]
    assert list(hint.__args__[0].__args__) == list(choices.choices)
    declared = {
        each.metadata["option"]
        for group in dataclasses.fields(module.Options)
        for each in dataclasses.fields(type(getattr(module.Options(), group.name)))
    }
    assert declared == {option.name for option in options}


def test_declared_objects_and_groups_of_them_become_contexts(module: Any) -> None:
    own = module.ScalarOptsOptions(unroll_count=2, unroll_runtime=True)
    assert OptionContext.from_options(own) == OptionContext(unroll_count=2, unroll_runtime=True)
    both = module.Options(
        scalar_opts_options=own, analysis_options=module.AnalysisOptions(inline_threshold=50)
    )
    context = OptionContext.from_options(both, base="defaults")
    assert context.overrides == {"unroll-count": 2, "unroll-runtime": True, "inline-threshold": 50}
    assert OptionContext.from_options(module.Options()).overrides == {}


def test_any_dataclass_will_do() -> None:
    """False is given; None is not."""

    @dataclasses.dataclass
    class Mine:
        inline_threshold: int | None = None
        print_these: list[str] | None = dataclasses.field(
            default=None, metadata={"option": "filter-print-funcs-of-nothing"}
        )
        unroll_allow_partial: bool | None = None

    overrides = OptionContext.from_options(Mine(7, unroll_allow_partial=False)).overrides
    assert overrides == {"inline-threshold": 7, "unroll-allow-partial": False}
    with pytest.raises(UnknownOptionError, match="filter-print-funcs-of-nothing"):
        OptionContext.from_options(Mine(print_these=["f"]))


@dataclasses.dataclass
class Count:
    unroll_count: object = None


@dataclasses.dataclass
class Twice:
    first: Count
    second: Count


def test_other_objects_get_one_clear_error() -> None:
    wrong: list[tuple[object, str]] = [
        ({"unroll-count": 4}, "an instance of a dataclass"),
        (Count, "found the class Count; make an instance"),
        (Twice(Count(1), Count(2)), "cannot set 'unroll-count' twice"),
        (Count([1]), "unroll-count"),
    ]
    for given, words in wrong:
        with pytest.raises(OptctxError, match=re.escape(words)) as raised:
            OptionContext.from_options(given)
        assert isinstance(raised.value, (OptionTypeError, ValueError)), given


def test_text_that_would_end_a_string_does_not(found: Facts) -> None:
    text = next(option for option in found.options if option.type == "string")
    nasty = msgspec.structs.replace(
        text, name="o", library="L", default='a"\\\n', help='ends with """ and \\ "', choices={}
    )
    made: dict[str, Any] = {"__name__": "nasty"}
    run(as_python(msgspec.structs.replace(found, library='a "title" \\', options=(nasty,))), made)
    assert dataclasses.fields(made["LOptions"])[0].metadata["option"] == "o"
