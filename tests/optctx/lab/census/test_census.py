"""`optctx census`: where options are stored and who refers to them, against LLVM's sources and the engine."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from optctx import OptctxError, registry
from optctx._native import demangle
from optctx.engine.attach import attach
from optctx.facts import UNKNOWN, Origins
from optctx.lab.census import Census, OptionFacts, Reader, census, census_as_json, compare, load_census
from optctx.lab.command import census_command
from optctx.lab.command.main import main
from tests.support.census_files import HEAD, OPTION

pytestmark = pytest.mark.usefixtures("attached")


@pytest.fixture(scope="module")
def taken() -> Census:
    return census()


@pytest.fixture(scope="module")
def options(taken: Census) -> dict[str, OptionFacts]:
    return {name: facts for facts in taken.options for name in facts.names}


def functions(facts: OptionFacts) -> set[str]:
    assert facts.readers is not None
    return {reader.function.split("(")[0] for reader in facts.readers}


def test_every_registered_name_is_in_it_once(taken: Census) -> None:
    names = [name for facts in taken.options for name in facts.names]
    assert sorted(names) == sorted(registry())


def test_an_option_of_a_pass(options: dict[str, OptionFacts]) -> None:
    facts = options["unroll-count"]  # llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp
    assert (facts.type, facts.form, facts.storage) == ("uint", "scalar", "internal")
    assert (facts.file, facts.library, facts.default) == ("LoopUnrollPass.cpp", "ScalarOpts", "0")
    assert functions(facts) == {"llvm::computeUnrollCount"}
    assert facts.occurrences_queried  # UnrollCount.getNumOccurrences() > 0
    assert facts.sum("loads") > facts.sum("occurrences")
    assert not any((facts.written, facts.address_taken, facts.in_constructors, facts.refused))


def test_a_value_behind_a_location(options: dict[str, OptionFacts]) -> None:
    facts = options["force-vector-width"]  # cl::location(VectorizerParams::VectorizationFactor)
    assert facts.storage == "external"
    assert "llvm::LoopVectorizeHints::LoopVectorizeHints" in functions(facts)
    assert facts.in_constructors


def test_options_that_only_constructors_read(options: dict[str, OptionFacts]) -> None:
    assert options["x86-asm-syntax"].only_in_constructors  # X86MCAsmInfo.cpp
    assert options["forget-scev-loop-unroll"].in_constructors  # PipelineTuningOptions()
    assert not options["inline-threshold"].in_constructors


def test_an_option_that_llvm_copies_once(options: dict[str, OptionFacts]) -> None:
    facts = options["regalloc"]
    assert facts.copied_once
    assert facts.readers is not None
    copies = {reader.function.split("(")[0] for reader in facts.readers if reader.copy}
    assert "llvm::TargetPassConfig::createRegAllocPass" in copies
    assert not options["unroll-count"].copied_once
    assert options["filter-print-funcs"].copied_once


def test_options_that_llvm_writes(options: dict[str, OptionFacts]) -> None:
    assert options["stats"].written  # constructed by the function that reads it
    facts = options["max-jump-table-size"]  # TargetLoweringBase.cpp: MaximumJumpTableSize = Val
    assert facts.readers is not None
    writers = {reader.function.split("(")[0] for reader in facts.readers if reader.stores}
    assert writers == {"llvm::TargetLoweringBase::setMaximumJumpTableSize"}
    # EnableFunctionCalls, which AMDGPU's machines set by an address.
    assert options["amdgpu-function-calls"].address_taken
    assert not options["unroll-count"].written


def test_callbacks_lists_and_heaps(options: dict[str, OptionFacts]) -> None:
    assert options["opt-bisect-limit"].callback
    assert options["opt-bisect-limit"].refused
    assert not options["unroll-count"].callback
    assert options["print-after"].form == "list"
    heap = options["debug-only"]
    assert (heap.storage, heap.readers, heap.library) == ("heap", None, UNKNOWN)
    assert "readers not known" in heap.flags()
    assert not heap.never_read


def test_types_and_scopes_are_those_of_the_registry(options: dict[str, OptionFacts]) -> None:
    for name, option in registry().items():
        facts = options[name]
        assert facts.scope == option.scope
        assert facts.reason == re.sub(" at 0x[0-9a-f]+", "", option.reason)
        if not facts.alias_of:
            assert facts.type == option.type
            assert facts.storage == option.storage
            assert set(option.read_by) <= {reader.function for reader in facts.readers or ()}


@pytest.mark.redirected
def test_the_sums_are_those_of_the_redirected_instructions(options: dict[str, OptionFacts]) -> None:
    plan = attach().plan
    assert plan.references.sites is not None
    stores = addresses = loads = 0
    for site in plan.references.sites:
        owner = plan.owners.get(plan.slots[site.region])
        if owner is None:
            continue
        addresses += site.takes_address
        stores += site.writes
        loads += site.reads and not site.takes_address
    scoped = [facts for facts in {id(f): f for f in options.values()}.values() if facts.scope != "process"]
    scoped = [facts for facts in scoped if facts.name != "debug" and not facts.alias_of]
    assert sum(facts.sum("addresses") for facts in scoped) == addresses
    assert sum(facts.sum("stores") for facts in scoped) == stores
    assert sum(facts.sum("loads") for facts in scoped) == loads


@pytest.mark.redirected
def test_an_option_that_nothing_reads_has_no_reader(options: dict[str, OptionFacts]) -> None:
    unread = {name for name, option in registry().items() if option.scope == "unread"}
    assert unread
    assert all(options[name].never_read for name in unread)
    assert options["unroll-count"].readers


@pytest.mark.parametrize(
    ("pattern", "library"),
    [
        (r"llvm::(LoopVectorizePass|VPlan|LoopVectorizationPlanner)::", r"Vectorize"),
        (r"llvm::(SelectionDAG|DAGTypeLegalizer|SelectionDAGBuilder)::", r"SelectionDAG"),
        (r"llvm::Hexagon\w*::", r"Hexagon\w+"),
        (r"llvm::(AMDGPU|SI)[A-Z]\w*::", r"AMDGPU\w+"),
        (r"llvm::(LLParser|LLLexer)::", r"AsmParser"),
        (r"llvm::(InstCombinerImpl)::", r"InstCombine"),
        (r"llvm::(LoopUnrollPass|GVNPass|LICMPass|SROAPass)::", r"ScalarOpts"),
        (r"llvm::(AttributorPass|GlobalOptPass|IROutliner)::", r"ipo"),
        (r"llvm::(ScalarEvolution|MemorySSA|LazyCallGraph|AliasSetTracker)::", r"Analysis"),
    ],
)
def test_functions_are_found_in_the_library_that_their_class_is_from(pattern: str, library: str) -> None:
    """No table of classes is used: the linker's order and local symbols say it."""
    image = attach().image
    origins = Origins(image)
    [named] = image.functions_named([("_ZN", "")])
    found = [symbol for symbol in named if re.match(pattern, demangle(symbol.name))]
    assert len(found) > 20
    libraries = [origins.of_function(symbol).library for symbol in found]
    known = [name for name in libraries if name != UNKNOWN]
    right = [name for name in known if re.fullmatch(library, name)]
    assert len(known) > 0.95 * len(libraries)
    # What several libraries compile from a header is in one of them.
    assert len(right) > 0.95 * len(known)


def test_nearly_every_option_has_a_library(taken: Census) -> None:
    static = [facts for facts in taken.options if facts.storage != "heap" and not facts.alias_of]
    unknown = [facts.name for facts in static if facts.library == UNKNOWN]
    assert len(unknown) < len(static) / 100
    assert {facts.library for facts in static if facts.file == "LoopUnrollPass.cpp"} == {"ScalarOpts"}


def test_a_census_is_read_back_as_it_was(taken: Census) -> None:
    assert load_census(census_as_json(taken).encode(), "it") == taken


def changed(taken: Census, name: str, change: Callable[[OptionFacts], OptionFacts]) -> Census:
    return replace(
        taken, options=tuple(change(facts) if facts.name == name else facts for facts in taken.options)
    )


def test_equal_censuses_do_not_differ(taken: Census) -> None:
    found = compare(taken, taken)
    assert (found.added, found.removed, found.changes) == ((), (), ())
    assert found.totals == {"names in both": len(registry()), "added": 0, "removed": 0}


@pytest.mark.parametrize(
    ("what", "change", "old", "new"),
    [
        ("type", lambda facts: replace(facts, type="int"), "uint", "int"),
        ("storage", lambda facts: replace(facts, storage="external"), "internal", "external"),
        ("default", lambda facts: replace(facts, default="7"), "0", "7"),
        ("library", lambda facts: replace(facts, library="ipo"), "ScalarOpts", "ipo"),
        ("refused", lambda facts: replace(facts, scope="process", reason="why"), "thread", "why"),
        ("copied once", lambda facts: replace(facts, copied_once=True), "no", "yes"),
        ("callback", lambda facts: replace(facts, callback=True), "no", "yes"),
        (
            "readers",
            lambda facts: replace(facts, readers=(*facts.readers, Reader("f(int)", "ipo", loads=1))),
            "",
            "f",
        ),
    ],
)
def test_each_kind_of_change_is_found(
    taken: Census, what: str, change: Callable[[OptionFacts], OptionFacts], old: str, new: str
) -> None:
    [found] = compare(taken, changed(taken, "unroll-count", change)).changes
    assert (found.name, found.what, found.old, found.new) == ("unroll-count", what, old, new)


def test_names_that_come_and_go(taken: Census) -> None:
    older = taken.only(lambda facts: facts.name != "unroll-count")
    assert compare(older, taken).added == ("unroll-count",)
    assert compare(taken, older).removed == ("unroll-count",)


def test_the_command_prints_what_the_function_returns(
    taken: Census, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["census", "--format", "json"]) == 0
    printed = capfd.readouterr().out
    assert load_census(printed.encode(), "it") == taken
    assert json.loads(printed)["totals"] == taken.totals
    monkeypatch.setattr(census_command, "census", lambda: taken)
    assert main(["census", "--format", "csv"]) == 0
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(capfd.readouterr().out))}
    assert rows["unroll-count"]["occurrences_queried"] == "true"
    assert len(rows) == len(taken.options)
    assert main(["census", "--options", "unroll-*"]) == 0
    table = capfd.readouterr().out
    assert re.search(r"^unroll-count +uint +internal +ScalarOpts +1 ", table, re.MULTILINE)
    assert "x86-asm-syntax" not in table
    (tmp_path / "old.json").write_text(printed)
    (tmp_path / "new.json").write_text(
        census_as_json(changed(taken, "unroll-count", lambda facts: replace(facts, default="9")))
    )
    assert main(["census", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 0
    assert re.search(r"^default +unroll-count +0 +9$", capfd.readouterr().out, re.MULTILINE)
    assert main(["census", "--against", str(tmp_path / "new.json"), "--format", "json"]) == 0
    [change] = json.loads(capfd.readouterr().out)["changes"]
    assert change == {"name": "unroll-count", "what": "default", "old": "9", "new": "0"}


def test_the_plot_is_drawn(
    taken: Census, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(census_command, "census", lambda: taken)
    path = tmp_path / "census.svg"
    assert main(["census", "--totals", "--plot", str(path)]) == 0
    assert "CodeGen" in path.read_text()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "expected JSON, found something else at column 2"),
        ("[]", "found other JSON"),
        ('{"census": 2}', "found format 2"),
        ("[" * 100_000 + "]" * 100_000, "expected at most 32 levels, found"),
        (json.dumps(HEAD), "expected 'options' of type list, found none"),
        (json.dumps({**HEAD, "options": [1]}), "expected an object for each option, found 1"),
        (json.dumps({**HEAD, "library": 1, "options": []}), "expected 'library' of type str, found 1"),
        (json.dumps({**HEAD, "options": [{**OPTION, "callback": 1}]}), "'callback' of type bool, found 1"),
        (json.dumps({**HEAD, "options": [{**OPTION, "names": [1]}]}), "expected strings in 'names'"),
        (
            json.dumps({**HEAD, "options": [{**OPTION, "readers": [{}]}]}),
            "'function' of type str, found none",
        ),
        (json.dumps({**HEAD, "options": [OPTION, OPTION]}), "expected each option once"),
    ],
)
def test_what_is_no_census_gets_one_clear_error(
    text: str, words: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "it.json"
    path.write_text(text)
    assert main(["census", str(path), str(path)]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert str(path) in err
    with pytest.raises(OptctxError):
        load_census(text.encode(), "it")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["old.json"], "expected two files to compare, found 1"),
        (["--against", "old.json", "new.json"], "expected no file beside --against, found 1"),
        (["--options", "unrol-count"], "no option matches"),
        (["--without"], "--without is for --reads"),
        (["--reads"], "name files of LLVM IR, or folders of them"),
        (["--reads", "x.ll", "--plot", "a.png"], "leave out --plot"),
        (["a.json", "b.json", "--format", "csv"], "use --format json"),
        (["--plot", "census.gif"], "expected a name that ends with .png, .svg, .pdf"),
        (["no.json", "no.json"], "there is no such file"),
    ],
)
def test_words_that_do_not_fit_get_one_clear_error(
    taken: Census,
    words: list[str],
    answer: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(census_command, "census", lambda: taken)
    assert main(["census", *words]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert answer in err
