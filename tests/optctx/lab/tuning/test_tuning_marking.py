"""The best set as attributes of functions: what these compile to is what a context gives."""

from __future__ import annotations

import json
import pathlib
from dataclasses import replace

import pytest
from llvmlite import binding

from optctx import OptionContext
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.errors import OptctxError
from optctx.lab.command.main import main
from optctx.lab.tuning.marking import marked, marked_and_tried
from tests.support.ir_texts import SCALE
from tests.support.tuning_cases import JOB

NAMES = r"""
%p = type { i32, ptr }
define internal fastcc %p @"a (b) \22c"(%p %pair, ptr byval([4 x i8]) "x)"="y(" %p) #0 section "s" align 16 {
  ret %p %pair
}
define i32 @plain() unnamed_addr personality ptr @personal {
  ret i32 0
}
define void @grouped(ptr %f) #0 gc "statepoint-example" {
  call void %f(i32 1) #0
  ret void
}
declare i32 @personal(...)
attributes #0 = { nounwind "target-cpu"="haswell" }
"""


@pytest.mark.usefixtures("attributes")
def test_attributes_compile_as_the_context_does(fresh: FreshProcess) -> None:
    options = {"force-vector-width": "2", "force-vector-interleave": "1", "unroll-count": "4"}
    text = marked_and_tried(JOB, OptionContext(options))
    assert text.count('"optctx"=') == SCALE.count("define ")
    inside = OptionContext(options).run(lambda: compile_job(JOB)).code
    arguments = tuple(f"-{name}={value}" for name, value in options.items())
    assert fresh.compile(replace(JOB, options=arguments)).code == inside
    assert compile_job(replace(JOB, ir=text)).code == inside
    assert inside != compile_job(JOB).code


def test_every_function_is_marked_whatever_its_head_looks_like() -> None:
    text = marked(NAMES, ["-unroll-count=4"])
    with binding.create_context() as context, binding.parse_assembly(text, context) as module:
        heads = {
            function.name: [each.decode() for each in function.attributes]
            for function in module.functions
            if not function.is_declaration
        }
        module.verify()
    assert len(heads) == 3
    for attributes in heads.values():
        assert '"optctx"="-unroll-count=4"' in " ".join(attributes)
    assert "call void %f(i32 1) #" in text


def test_what_functions_cannot_have_is_refused_by_name() -> None:
    # When the pipeline is made
    with pytest.raises(OptctxError, match="because LLVM reads it while it makes the pipeline"):
        marked_and_tried(JOB, OptionContext({"vectorize-loops": "false"}))
    with pytest.raises(OptctxError, match="its class is output"):
        marked_and_tried(JOB, OptionContext({"print-after-all": "true"}))
    with pytest.raises(OptctxError, match="take it out first"):
        marked(marked(SCALE, ["-unroll-count=2"]), ["-unroll-count=4"])
    with pytest.raises(OptctxError, match="cannot read the module"):
        marked_and_tried(Job("define"), OptionContext(unroll_count=4))


def test_the_command_line_writes_the_module(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scale.ll").write_text(SCALE)
    out = tmp_path / "best.ll"
    words = ["tune", str(tmp_path / "scale.ll"), "--passes", "default<O2>", "--try", "force-vector-width=1,4"]
    assert main([*words, "--sampler", "grid", "--emit-ir", str(out), "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    ((name, value),) = found["best"]["options"].items()
    assert out.read_text() == marked(SCALE, [f"-{name}={value}"])
    base = ["--set", "force-vector-width=1", "--set", "unroll-threshold=9", "--try", "unroll-count=1,4"]
    assert main([*words[:4], *base, "--by", "size:max", "--emit-ir", str(out), "--format", "json"]) == 0
    best = [
        f"-{name}={value}" for name, value in json.loads(capfd.readouterr().out)["best"]["options"].items()
    ]
    assert out.read_text() == marked(SCALE, ["-force-vector-width=1", "-unroll-threshold=9", *best])
    assert main([*words, "--by", "size", "--by", "instructions", "--emit-ir", str(out)]) == 2
    assert "take --emit-ir out" in capfd.readouterr().err


def test_what_cannot_be_written_is_refused_before_the_search(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, folder = tmp_path / "scale.ll", tmp_path / "folder"
    folder.mkdir()
    words = ["tune", str(file), "--try", "unroll-count=1,2", "--keep", str(folder / "x.db")]
    marked_text = marked(SCALE, ["-unroll-count=2"])
    for text, option, path, reason in (
        (SCALE, "--best", tmp_path / "none" / "x", "there is no directory"),
        (SCALE, "--emit-ir", folder, "it is a directory"),
        (SCALE, "--wrong", file / "new", f"cannot write into {file / 'new'}: there is no directory"),
        (marked_text, "--emit-ir", tmp_path / "b.ll", "take it out first"),
    ):
        file.write_text(text)
        assert main([*words, option, str(path)]) == 2
        out, err = capfd.readouterr()
        assert (out, reason in err) == ("", True)
    assert not list(folder.iterdir())
    file.write_text('; it has no "optctx"="-unroll-count=2"\n' + SCALE)
    assert main([*words, "--emit-ir", str(tmp_path / "b.ll")]) == 0
