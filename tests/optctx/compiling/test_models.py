"""Relocation and code models of jobs, through each door, against llvmlite alone in a fresh process."""

from __future__ import annotations

import hashlib
import itertools
import json
import pathlib
import pickle
import sys
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import find
from hypothesis import strategies as st

from optctx import CompileCache
from optctx.compiling import CodeModel, FreshProcess, Job, Reloc, compile_job
from optctx.errors import OptctxError
from optctx.testing import jobs
from tests.support.processes import output_of

X86 = "x86_64-unknown-linux-gnu"
MODULE = """
@table = dso_local global [4 x i32] zeroinitializer
declare void @called()
define i32 @entry(i64 %index) {
  call void @called()
  %place = getelementptr [4 x i32], ptr @table, i64 0, i64 %index
  %value = load i32, ptr %place
  ret i32 %value
}
"""
# Each of both kinds, and what is compiled for by default.
MODELS = [*zip(itertools.cycle(get_args(Reloc)), get_args(CodeModel)), ("pic", "default")]
# Prints the digest of the object of each pair of models.
DIRECT = f"""
import hashlib, json
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
target, found = binding.Target.from_triple({X86!r}), []
for reloc, model in {MODELS!r}:
    with binding.create_context() as context, binding.parse_assembly({MODULE!r}, context) as module:
        with target.create_target_machine(opt=2, reloc=reloc, codemodel=model) as machine:
            module.triple, module.data_layout = {X86!r}, str(machine.target_data)
            found.append(hashlib.sha256(machine.emit_object(module)).hexdigest())
print(json.dumps(found))
"""


def job_of(models: tuple[Any, Any]) -> Job:
    return Job(MODULE, "verify", triple=X86, reloc=models[0], code_model=models[1])


def digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()


@pytest.fixture(scope="module")
def expected() -> list[str]:
    found: list[str] = json.loads(output_of(sys.executable, "-c", DIRECT))
    assert len(set(found)) >= 4  # static or not, far or near
    return found


def test_a_thread_a_fresh_process_a_cache_and_drawn_jobs(
    expected: list[str], fresh: FreshProcess, tmp_path: pathlib.Path
) -> None:
    assert digest(compile_job(Job(MODULE, "verify", triple=X86)).code) == expected[-1]
    for models, object_digest in zip(MODELS, expected, strict=True):
        job = job_of(models)
        assert pickle.loads(pickle.dumps(job)) == job
        same = {"triple": X86, "reloc": models[0], "code_model": models[1]}
        assert find(jobs(MODULE, st.just({}), passes="verify", **same), lambda _: True) == job
        assert digest(compile_job(job).code) == object_digest, models
        assert digest(fresh.compile(job).code) == object_digest, models
    cache = CompileCache(tmp_path)
    for _, (models, object_digest) in itertools.product("ab", zip(MODELS, expected, strict=True)):
        reloc, model = models
        found = cache.compile(MODULE, "verify", triple=X86, reloc=reloc, code_model=model)
        assert digest(found.code) == object_digest, models
    assert (cache.hits, cache.misses) == (len(MODELS), len(MODELS))


def test_a_model_that_there_is_not_or_that_a_target_has_not_is_an_error(fresh: FreshProcess) -> None:
    for name, kind in (("reloc", Reloc), ("code_model", CodeModel)):
        for wrong in ("PIC", "", None, 1, ["pic"]):
            with pytest.raises(OptctxError, match=f"is one of {', '.join(get_args(kind))}, found"):
                Job(MODULE, **{name: wrong})  # type: ignore[arg-type]
    for triple, model in (("aarch64", "kernel"), ("arm", "kernel"), ("i386", "large"), ("xcore", "medium")):
        job = replace(job_of(("pic", model)), triple=triple)
        words = f"cannot compile for the code model '{model}' of {triple}: LLVM says: "
        result = compile_job(job)
        assert result.error is not None
        assert result.error.startswith(words)
        assert (result.end, fresh.compile(job).end) == ("failed", "crashed")
