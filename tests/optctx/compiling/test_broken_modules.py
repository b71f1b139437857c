"""A module that LLVM's verifier refuses is one line with its words, wherever the module comes in, at once."""

from __future__ import annotations

import json

import pytest

from tests.support.broken_modules import (
    BROKEN,
    BROKEN_DEBUG_INFO,
    COMMANDS,
    DAMAGED,
    NOT_PARSED,
    OF_IR,
    OF_MODULES,
    SAID,
)
from tests.support.processes import python_process

WAYS = [*OF_MODULES, *OF_IR, *(f"optctx {name}" for name in COMMANDS)]
FIRST = {"run_passes", "emit_object", "compile_job", "CompileCache", "optctx record", "optctx sweep"}


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[] if way in FIRST else [pytest.mark.long]) for way in WAYS]
)
def test_a_broken_module_is_refused_in_the_verifiers_words(way: str) -> None:
    """In a process of its own: LLVM may end it, or never end."""
    done = python_process("-m", "tests.support.broken_modules", way)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) >= len(BROKEN) - len(NOT_PARSED)
    command = way.startswith("optctx ")
    for kind, answer in answers.items():
        bitcode = kind in DAMAGED or kind.endswith(", as bitcode")
        path = f"broken.{'bc' if bitcode else 'll'}" if command else "the module"
        if kind in DAMAGED:
            where = f"the bitcode of {path}" if command else path
            begins = f"cannot read {where}: "
        else:
            begins = f"cannot compile {path}: {SAID}{BROKEN[kind.removesuffix(', as bitcode')][1]}"
        assert answer.startswith(f"2 optctx: {begins}" if command else begins), (kind, answer)
        assert answer.removesuffix("\n" if command else "").count("\n") == 0, (kind, answer)


@pytest.mark.parametrize("way", ["compile_job", "FreshProcess", "CompileCache"])
def test_debug_info_that_is_broken_is_left_out_as_llvms_programs_do(way: str) -> None:
    work = OF_IR[way]
    work(BROKEN_DEBUG_INFO)  # raises for an error
