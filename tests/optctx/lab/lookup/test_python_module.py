"""`optctx options --format python`: the registry as dataclasses, and contexts made of typed objects."""

from __future__ import annotations

import ast
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
from optctx.fresh import FreshProcess, Job, compile_job
from optctx.lab.lookup import as_python, identifiers
from tests.support.ir_texts import COUNTED, UNROLL, X86

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


def test_identifiers_are_names_in_python_and_different(options: list[OptionFacts]) -> None:
    words = identifiers(options).values()
    assert len(set(words)) == len(options)
    assert all(word.isidentifier() and not keyword.iskeyword(word) for word in words)


def test_the_module_declares_types_help_and_defaults(
    found: Facts, options: list[OptionFacts], module: Any
) -> None:
    text = as_python(found)
    ast.parse(text)
    assert "optctx" not in [
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import)
        for name in node.names
    ]
    fields = {each.name: each for each in dataclasses.fields(module.ScalarOptsOptions)}
    assert fields["unroll_count"].metadata["option"] == "unroll-count"
    hints = get_type_hints(module.ScalarOptsOptions)
    assert hints["unroll_count"] == (int | None)
    block = text[text.index("    unroll_count:") :][:600]
    assert registry()["unroll-count"].help.split()[0] in block
    assert "Default: 0." in block
    declared = {
        each.metadata["option"]
        for group in dataclasses.fields(module.Options)
        for each in dataclasses.fields(type(getattr(module.Options(), group.name)))
    }
    assert declared == {option.name for option in options}


def test_choices_are_literals(options: list[OptionFacts], module: Any) -> None:
    option = next(o for o in options if o.type == "enum" and o.library == "X86Desc")
    hint = get_type_hints(getattr(module, "X86DescOptions"))[identifiers([option])[option.name]]  # noqa: B009
    [literal, _] = hint.__args__
    assert list(literal.__args__) == list(option.choices)


def job(**options: Any) -> Job:
    return Job(COUNTED, UNROLL, triple=X86, emit="ir", **options)


def test_a_context_of_a_declared_object_compiles_as_a_fresh_process(module: Any, fresh: FreshProcess) -> None:
    given = module.ScalarOptsOptions(unroll_count=4, unroll_runtime=True)
    context = OptionContext.from_options(given)
    assert dict(context.overrides) == {"unroll-count": 4, "unroll-runtime": True}
    with context:
        scoped = compile_job(job())
    expected = fresh.compile(job(options=("-unroll-count=4", "-unroll-runtime")))
    assert scoped.ir == expected.ir
    assert scoped.ir != compile_job(job()).ir


def test_groups_of_libraries_count_together(module: Any) -> None:
    given = module.Options(
        scalar_opts_options=module.ScalarOptsOptions(unroll_count=2),
        analysis_options=module.AnalysisOptions(inline_threshold=50),
    )
    context = OptionContext.from_options(given, base="defaults")
    assert dict(context.overrides) == {"unroll-count": 2, "inline-threshold": 50}
    assert OptionContext.from_options(module.Options()).overrides == {}


def test_any_dataclass_will_do() -> None:
    @dataclasses.dataclass
    class Mine:
        inline_threshold: int | None = None
        print_these: list[str] | None = dataclasses.field(
            default=None, metadata={"option": "filter-print-funcs-of-nothing"}
        )
        unroll_allow_partial: bool | None = None

    assert dict(OptionContext.from_options(Mine(7)).overrides) == {"inline-threshold": 7}
    # False is given; None is not.
    assert dict(OptionContext.from_options(Mine(unroll_allow_partial=False)).overrides) == {
        "unroll-allow-partial": False
    }
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
        (None, "an instance of a dataclass"),
        (Count, "found the class Count; make an instance"),
        (Twice(Count(1), Count(2)), "cannot set 'unroll-count' twice"),
        (Count("four"), "unroll-count"),
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
