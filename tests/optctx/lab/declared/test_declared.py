"""`optctx export`: the registry as Python, JSON and TableGen, and contexts made of typed objects."""

from __future__ import annotations

import ast
import dataclasses
import json
import keyword
import pathlib
import re
import shutil
import subprocess
import sys
import types
from typing import Any, get_type_hints

import pytest

from optctx import OptctxError, OptionContext, OptionTypeError, UnknownOptionError, registry
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.lab.command.main import main
from optctx.lab.declared import DeclaredOption, as_python, as_tablegen, declared_options
from optctx.lab.declared.model import by_library
from tests.support.ir_texts import COUNTED, UNROLL, X86

pytestmark = pytest.mark.usefixtures("attached")

TABLEGEN = pathlib.Path(__file__).parent / "tablegen"  # the interface of LLVM's LibraryOptions.td


@pytest.fixture(scope="module")
def options() -> list[DeclaredOption]:
    return declared_options()


def run(text: str, names: dict[str, Any]) -> None:
    """As an import does, which inherits nothing of this file."""
    exec(compile(text, "declared.py", "exec", dont_inherit=True), names)


@pytest.fixture(scope="module")
def module(options: list[DeclaredOption]) -> Any:
    made = types.ModuleType("declared_llvm_options")
    sys.modules[made.__name__] = made  # where dataclasses look types up
    run(as_python(options, "LLVM's options."), made.__dict__)
    return made


def test_every_option_is_declared_once(options: list[DeclaredOption]) -> None:
    registered = registry()
    names = [option.name for option in options]
    assert len(set(names)) == len(names)
    own = {name for name, option in registered.items() if option.alias_of is None}
    assert own == {name for option in options for name in (option.name, *option.aliases)} & own
    for declared in options:
        option = registered[declared.name]
        assert (declared.type, declared.default, declared.scope) == (
            option.type,
            option.default,
            option.scope,
        )
        assert list(declared.choices) == list(option.choices)


def test_identifiers_are_names_in_python_and_different(options: list[DeclaredOption]) -> None:
    identifiers = [option.identifier for option in options]
    assert len(set(identifiers)) == len(identifiers)
    assert all(word.isidentifier() and not keyword.iskeyword(word) for word in identifiers)


def test_the_module_declares_types_help_and_defaults(options: list[DeclaredOption], module: Any) -> None:
    text = as_python(options, "LLVM's options.")
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


def test_choices_are_literals(options: list[DeclaredOption], module: Any) -> None:
    option = next(o for o in options if o.type == "enum" and o.library == "X86Desc")
    hint = get_type_hints(getattr(module, "X86DescOptions"))[option.identifier]  # noqa: B009
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


def test_json_has_what_the_registry_has(
    options: list[DeclaredOption], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--format", "json", "--options", "x86-*"]) == 0
    found = {each["name"]: each for each in json.loads(capfd.readouterr().out)}
    assert found.keys() == {option.name for option in options if option.name.startswith("x86-")}
    syntax = found["x86-asm-syntax"]
    assert (syntax["type"], syntax["default"], syntax["library"]) == ("enum", "att", "X86Desc")
    assert [(choice["name"], choice["number"]) for choice in syntax["choices"]] == [("att", 0), ("intel", 1)]


def test_tablegen_declares_the_fields_that_it_can(options: list[DeclaredOption]) -> None:
    text = as_tablegen("ScalarOpts", by_library(options)["ScalarOpts"], "title")
    assert "def ScalarOptsOptions : OptionsStruct;" in text
    assert re.search(r'^defm unroll_count : ValueField<"unroll-count", "unsigned", "0", ".+">;$', text, re.M)
    assert re.search(r'^defm unroll_runtime : BoolField<"unroll-runtime", "false", ".*">;$', text, re.M)
    syntax = as_tablegen("X86Desc", by_library(options)["X86Desc"], "title")
    assert 'EnumField<"x86-asm-syntax", "int", "0", "att,intel", ["0", "1"], ' in syntax
    lists = [option for option in options if option.type == "list"]
    assert all(f"// {o.name}: a list has no field" in as_tablegen("x", [o], "t") for o in lists)


def test_text_that_would_end_a_string_does_not() -> None:
    nasty = DeclaredOption(
        name="o",
        identifier="o",
        library="L",
        type="string",
        element="",
        default='a"\\\n',
        help='ends with """ and \\ "',
        choices={},
        aliases=(),
        categories=(),
        scope="thread",
        reason="",
    )
    made: dict[str, Any] = {"__name__": "nasty"}
    run(as_python([nasty], 'a "title" \\'), made)
    assert dataclasses.fields(made["LOptions"])[0].metadata["option"] == "o"
    assert r'"\"a\\\"\\\\\\n\""' in as_tablegen("L", [nasty], "t\nu")


@pytest.mark.skipif(shutil.which("llvm-tblgen") is None, reason="needs llvm-tblgen (Debian: llvm)")
def test_llvm_tblgen_reads_the_records_of_every_library(
    options: list[DeclaredOption], tmp_path: pathlib.Path
) -> None:
    assert main(["export", "--format", "td", "--output", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*Options.td"))
    assert len(files) == len(by_library(options))
    declared: dict[str, Any] = {}
    for file in files:
        command = ["llvm-tblgen", "-I", str(TABLEGEN), "--dump-json", str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        records = json.loads(done.stdout)
        [struct] = records["!instanceof"]["OptionsStruct"]
        assert struct == file.stem
        declared |= {records[name]["Spelling"]: records[name] for name in records["!instanceof"]["Member"]}
    fieldless = {o.name for o in options if o.type in ("list", "bits", "set", "other")}
    missing = {o.name for o in options} - declared.keys()
    assert missing >= fieldless
    assert all(o.type == "enum" for o in options if o.name in missing - fieldless)
    record = declared["unroll-count"]
    assert (record["Type"], record["Default"], record["Member"]) == ("unsigned", "0", "unroll_count")


ANSWERS = {
    "--format td": "name one with --library, or --output a folder",
    "--format td --output /no/folder": "expected a folder; make it first",
    "--format json --library ScalarOpt": "did you mean ScalarOpts?",
    "--format json --options no-such-*": "no option matches",
    "--format python --output /no/file.py": "there is no directory",
}


def test_words_that_do_not_fit_get_one_clear_error(
    capfd: pytest.CaptureFixture[str], options: list[DeclaredOption], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "optctx.lab.command.export_command.declared_options", lambda: options
    )  # takes half a second
    for words, answer in ANSWERS.items():
        assert main(["export", *words.split()]) == 2
        out, err = capfd.readouterr()
        assert (out, err.count("\n")) == ("", 1), words
        assert answer in err
