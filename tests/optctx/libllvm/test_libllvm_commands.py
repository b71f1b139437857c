"""Commands with an LLVM that is linked of LLVM's archives: what each finds, fresh processes find as well."""

from __future__ import annotations

import hashlib
import json
import pathlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import find, given, settings

from optctx import OptctxError, OptionContext, current, libllvm, registry
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.compiling.facts import load_facts
from optctx.lab.command.main import main
from optctx.testing import Compiler, contexts, jobs, options, overrides
from tests.support.ir_texts import COUNTED, SCALE
from tests.support.own_llvm import needs_archives
from tests.support.processes import forked

pytestmark = needs_archives


@pytest.fixture(autouse=True)
def kernels(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files, in the current folder."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("counted.ll").write_text(COUNTED)
    pathlib.Path("scale.ll").write_text(SCALE)


def digest(fresh: FreshProcess, job: Job) -> str:
    return hashlib.sha256(fresh.compile(job).code).hexdigest()


@forked
def test_what_it_reads_is_recorded(library: str, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["record", "counted.ll", "--llvm", library, "--set", "unroll-count=4", "--format", "json"]
    assert main([*command, "--set", "aarch64-use-aa=false"]) == 2
    assert "aarch64-use-aa" in capfd.readouterr().err, "it has no such target"
    assert main(command) == 0
    read = {each["name"]: each["values"] for each in json.loads(capfd.readouterr().out)["read"]}
    assert read["unroll-count"] == [4]
    assert len(read) > 200


@forked
def test_a_sweep_compiles_with_it_and_agrees_with_fresh_processes(
    library: str, capfd: pytest.CaptureFixture[str]
) -> None:
    own = ["sweep", "counted.ll", "--try", "unroll-count=2..4", "--llvm", library, "--format", "json"]
    assert main([*own, "--set", "regalloc=basic", "--verify"]) == 0
    trials = json.loads(capfd.readouterr().out)
    assert [trial["agrees"] for trial in trials] == [True] * 3
    with FreshProcess() as fresh:
        for trial in trials:
            options = ("-regalloc=basic", f"-unroll-count={trial['options']['unroll-count']}")
            assert trial["attributes"]["digest"] == digest(fresh, Job(COUNTED, options=options, llvm=library))
    assert len({trial["attributes"]["digest"] for trial in trials}) == 3


@forked
def test_info_and_options_are_of_it_alone_and_compared_with_llvmlites(
    library: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["options", "unroll-*", "--format", "json"]) == 0
    pathlib.Path("old.json").write_text(capfd.readouterr().out)
    assert main(["options", "unroll-*", "--llvm", library, "--format", "json"]) == 0
    found = load_facts(capfd.readouterr().out.encode(), "standard output")
    assert (found.library, found.llvm, found.llvmlite) == ("libLLVM-19.so", libllvm.open(library).version, "")
    own = registry(libllvm.open(library).image)
    assert {each.name: each.scope for each in found.options} == {
        name: option.scope for name, option in own.items() if name.startswith("unroll-")
    }
    assert main(["options", "unroll-*", "--llvm", library, "--against", "old.json"]) == 0
    assert f"new: {found.title}, {len(found.options)} names" in capfd.readouterr().out
    assert main(["info", "--llvm", library, "--format", "json"]) == 0
    [image] = json.loads(capfd.readouterr().out)["images"]
    assert (image["path"], image["scope_reaches"]) == (library, "thread")
    assert len(own) == image["registry"]["names"]


@forked
def test_a_search_compiles_with_it_and_its_study_goes_on_with_no_other(
    library: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def options(trial: dict[str, Any]) -> tuple[str, ...]:
        return tuple(f"-{name}={text}" for name, text in trial["options"].items() if text != "default")

    words = ["tune", "scale.ll", "--try", "unroll-count=1,4", "--try", "force-vector-width=4"]
    words += ["--storage", "study"]
    own = [*words, "--llvm", library]
    assert main([*own, "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    with FreshProcess() as fresh:
        jobs = [Job(SCALE, options=options(trial), llvm=library) for trial in found["trials"]]
        alone = [digest(fresh, job) for job in jobs]
    assert [trial["attributes"]["digest"] for trial in found["trials"]] == alone
    assert len(set(alone)) > 1
    assert main(words) == 2
    assert "its trials differ in versions" in capfd.readouterr().err
    assert main([*own, "--best", "best.toml"]) == 0
    said = capfd.readouterr().out
    assert "clang: " in said
    assert "numba" not in said, "which compiles with llvmlite's"


@forked
def test_a_ranking_and_a_reduction_compile_with_it(library: str, capfd: pytest.CaptureFixture[str]) -> None:
    own = ["--llvm", library, "--format", "json"]
    assert main(["rank", "counted.ll", "--only", "unroll-count", *own]) == 0
    [effect] = json.loads(capfd.readouterr().out)["effects"]
    with FreshProcess() as fresh:
        for trial in effect["trials"]:
            options = tuple(f"-{name}={text}" for name, text in trial["options"].items())
            assert trial["attributes"]["digest"] == digest(fresh, Job(COUNTED, options=options, llvm=library))
    command = ["--set", "unroll-count=4", "--command", "false", "--llvm", library]
    assert main(["reduce", "counted.ll", *command, "--set", "aarch64-use-aa=false"]) == 2
    assert "aarch64-use-aa" in capfd.readouterr().err, "it has no such target"


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
