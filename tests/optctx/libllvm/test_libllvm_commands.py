"""Commands with an LLVM that is linked of LLVM's archives: what each finds, fresh processes find as well."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import find, given, settings

from optctx import OptctxError, OptionContext, current, libllvm, registry
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.compiling.facts import load_facts
from optctx.lab.command.main import main
from optctx.testing import Compiler, contexts, jobs, options, overrides
from optctx.testing.compiler import reads_of
from tests.support.ir_texts import COUNTED, SCALE
from tests.support.own_llvm import needs_archives
from tests.support.processes import forked
from tests.support.tuning_cases import HARNESS, LOOSE
from tests.support.tuning_cases import SUM as FLOATS

pytestmark = needs_archives


@pytest.fixture
def kernels(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files, in the current folder, and a harness."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("counted.ll").write_text(COUNTED)
    pathlib.Path("scale.ll").write_text(SCALE)
    pathlib.Path("sum.ll").write_text(FLOATS)
    pathlib.Path("sum_harness.py").write_text(f"{HARNESS}{LOOSE}seconds = 0.01\n")


def digests(library: str, ir: str, sets: Sequence[Sequence[str]]) -> list[str]:
    """Of the objects that fresh processes compile."""
    with FreshProcess() as fresh:
        codes = [fresh.compile(Job(ir, options=tuple(each), llvm=library)).code for each in sets]
    return [hashlib.sha256(code).hexdigest() for code in codes]


def options_of(trial: dict[str, Any]) -> list[str]:
    return [f"-{name}={text}" for name, text in trial["options"].items() if text != "default"]


@forked
def test_what_it_reads_is_recorded(
    library: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "unroll-count" in reads_of(Job(COUNTED, llvm=library))
    assert "unroll-count" not in reads_of(Job(COUNTED, "instcombine", llvm=library))
    file = tmp_path / "counted.ll"
    file.write_text(COUNTED)
    command = ["record", str(file), "--llvm", library, "--format", "json"]
    assert main([*command, "--set", "unroll-count=4", "--set", "aarch64-use-aa=false"]) == 2
    assert "aarch64-use-aa" in capfd.readouterr().err, "it has no such target"
    assert main([*command, "--set", "unroll-count=4", "--set", "enable-gvn-sink"]) == 0
    found = json.loads(capfd.readouterr().out)
    read = {each["name"]: each["values"] for each in found["read"]}
    assert read["unroll-count"] == [4]
    assert len(read) > 200
    assert main([*command, "--passes", "instcombine", "--set", "unroll-count=4"]) == 0
    assert [each["name"] for each in json.loads(capfd.readouterr().out)["unread"]] == ["unroll-count"]


@forked
def test_a_sweep_compiles_with_it_and_agrees_with_fresh_processes(
    library: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "counted.ll"
    file.write_text(COUNTED)
    words = ["sweep", str(file), "--try", "unroll-count=2..4"]
    own = [*words, "--llvm", library, "--format", "json"]
    assert main([*own, "--set", "regalloc=basic", "--verify"]) == 0
    trials = json.loads(capfd.readouterr().out)
    assert [trial["agrees"] for trial in trials] == [True] * 3
    llvm = libllvm.open(library)
    for trial in trials:
        options = ("-regalloc=basic", f"-unroll-count={trial['options']['unroll-count']}")
        with OptionContext.from_args(options, image=llvm.image):
            alone = compile_job(Job(COUNTED, llvm=library))
        assert hashlib.sha256(alone.code).hexdigest() == trial["attributes"]["digest"]
    assert len({trial["attributes"]["digest"] for trial in trials}) == 3
    assert main([*own, "--passes", "no-pass"]) == 2
    assert "cannot run the pass pipeline 'no-pass'" in capfd.readouterr().err
    assert main([*own, "--try", "unroll-cunt=1"]) == 2
    assert "among the" in capfd.readouterr().err


@forked
def test_the_command_lists_its_options_and_compares_them_with_llvmlites(
    library: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["options", "unroll-*", "--format", "json"]) == 0
    old = tmp_path / "old.json"
    old.write_text(capfd.readouterr().out)
    assert main(["options", "unroll-*", "--llvm", library, "--format", "json"]) == 0
    found = load_facts(capfd.readouterr().out.encode(), "standard output")
    assert (found.library, found.llvm, found.llvmlite) == ("libLLVM-19.so", libllvm.open(library).version, "")
    own = registry(libllvm.open(library).image)
    assert {each.name: each.scope for each in found.options} == {
        name: option.scope for name, option in own.items() if name.startswith("unroll-")
    }
    assert main(["options", "unroll-*", "--llvm", library, "--against", str(old)]) == 0
    said = capfd.readouterr().out
    assert f"new: {found.title}, {len(found.options)} names" in said
    assert main(["options", "--llvm", "/no/libLLVM.so"]) == 2
    assert "cannot open '/no/libLLVM.so' as an LLVM: no such file" in capfd.readouterr().err


@forked
def test_a_ranking_tries_what_it_reads(
    library: str, kernels: None, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["rank", "counted.ll", "--only", "unroll-[cr]*", "--set", "regalloc=basic"]
    own = [*words, "--llvm", library, "--format", "json"]
    assert main(own) == 0
    found = json.loads(capfd.readouterr().out)
    trials = [trial for each in found["effects"] for trial in each["trials"]]
    assert len(trials) > 2
    done = [trial for trial in trials if trial["state"] == "ok"]
    alone = digests(library, COUNTED, [["-regalloc=basic", *options_of(trial)] for trial in done])
    assert [trial["attributes"]["digest"] for trial in done] == alone
    assert "unroll-count" in [each["option"] for each in found["effects"] if each["changes"]]


@forked
def test_a_search_compiles_with_it_and_its_study_goes_on_with_no_other(
    library: str, kernels: None, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", "scale.ll", "--try", "unroll-count=1,4", "--try", "force-vector-width=1,4"]
    words += ["--storage", "study"]
    own = [*words, "--llvm", library]
    assert main([*own, "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert len(found["trials"]) == 4
    alone = digests(library, SCALE, [options_of(trial) for trial in found["trials"]])
    assert [trial["attributes"]["digest"] for trial in found["trials"]] == alone
    assert len(set(alone)) > 2
    best = [f"-{name}={text}" for name, text in found["minimised"].items()]
    assert digests(library, SCALE, [best]) == [found["best"]["attributes"]["digest"]]
    assert main(words) == 2
    assert "its trials differ in versions" in capfd.readouterr().err
    assert main([*own, "--best", "best.toml"]) == 0
    said = capfd.readouterr().out
    assert "clang: " in said
    assert "numba" not in said, "which compiles with llvmlite's"
    assert main(["sweep", "scale.ll", "--llvm", library, "--load", "best.toml", "--format", "json"]) == 0
    [trial] = json.loads(capfd.readouterr().out)
    assert trial["attributes"]["digest"] == found["best"]["attributes"]["digest"]


@forked
def test_options_are_reduced_by_what_it_compiles(
    library: str, kernels: None, capfd: pytest.CaptureFixture[str]
) -> None:
    with FreshProcess() as fresh:
        base = len(fresh.compile(Job(SCALE, llvm=library)).code)
    pathlib.Path("larger.sh").write_text(f'[ "$(stat -c %s "$1")" -gt {base} ]\n')
    words = ["reduce", "scale.ll", "--llvm", library, "--set", "unroll-count=64", "--set", "enable-gvn-sink"]
    assert main([*words, "--command", "sh larger.sh {object}", "--format", "json"]) == 0
    [option] = json.loads(capfd.readouterr().out)["options"]
    count = int(option.removeprefix("-unroll-count="))
    assert count < 64
    nearer = f"-unroll-count={count - 1}"
    with FreshProcess() as fresh:
        sizes = [
            len(fresh.compile(Job(SCALE, options=(each,), llvm=library)).code) for each in (option, nearer)
        ]
    assert sizes[0] > base >= sizes[1]


@forked
def test_property_tests_draw_its_options(library: str) -> None:
    image = libllvm.open(library).image
    drawn = overrides(options("unroll-*", image=image), min_size=1, max_size=3, image=image)
    with Compiler() as compiler:

        @settings(deadline=None, database=None, derandomize=True, max_examples=8)
        @given(jobs(COUNTED, drawn, llvm=library), contexts(image=image))
        def threads_agree(job: Job, context: OptionContext) -> None:
            assert job.options
            with OptionContext.from_args(job.options, image=image, base="defaults"):
                assert compile_job(replace(job, options=())) == compiler.compile(job)
            with context:
                assert current(image) == context

        threads_agree()
    with pytest.raises(OptctxError, match="no option"):  # it has no such target
        find(options("hexagon-*", image=image, trust=None), lambda _: True)


@forked
def test_info_is_of_it_alone_and_says_what_a_scope_reaches(
    library: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", "--llvm", library, "--format", "json"]) == 0
    [image] = json.loads(capfd.readouterr().out)["images"]
    assert (image["path"], image["scope_reaches"]) == (library, "thread")
    assert len(registry(libllvm.open(library).image)) == image["registry"]["names"]
