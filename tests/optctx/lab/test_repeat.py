"""The lines that compile a module once more: what they are, and that programs take them."""

from __future__ import annotations

import pathlib
import shlex
import shutil
import subprocess

import pytest

from optctx.compiling import Job
from optctx.lab.repeat import Source, lines_of
from tests.support.ir_texts import X86
from tests.support.processes import output_of
from tests.support.tuning_cases import TINY

HOSTILE = "'; touch hacked; '\"$(touch hacked)`touch hacked`\\ \n\x1b\u202e\udcff7*?~ #{x}%s!"


def test_the_lines_for_each_tool() -> None:
    """The options of all compilations are given, and those of the trial on top."""
    job = Job("", "default<O2>", triple=X86, cpu="haswell", features="+avx2,-fma", opt_level=3)
    base = ("-unroll-count=2", "-enable-gvn-hoist")
    source = Source("in/kernel.c", job, clang=("clang-19", "-DN=8", "-I", "a b"), options=base)
    target = (
        f"--target={X86} -fPIC -Xclang -target-cpu -Xclang haswell -Xclang -target-feature -Xclang +avx2 "
        "-Xclang -target-feature -Xclang -fma -DN=8 -I 'a b'"
    )
    flags = f"-mtriple={X86} -mcpu=haswell -mattr=+avx2,-fma -relocation-model=pic"
    flags += " -enable-gvn-hoist -unroll-count=4"
    assert lines_of({"unroll-count": "4", "inline-threshold": "default"}, source) == {
        "front": f"clang-19 -c -emit-llvm -O2 -Xclang -disable-llvm-passes {target} "
        "-o kernel.bc -- in/kernel.c",
        "opt": f"opt '-passes=default<O2>' {flags} -o kernel.opt.bc kernel.bc",
        "llc": f"llc -O3 -filetype=obj {flags} -o kernel.o kernel.opt.bc",
        "clang": f"clang-19 -O2 {target} -mllvm -enable-gvn-hoist -mllvm -unroll-count=4 "
        "-c -o kernel.o -- in/kernel.c",
        "numba": "@optctx.numba.njit(options={'enable-gvn-hoist': 'true', 'unroll-count': '4'})",
    }


def test_what_has_no_line_has_none() -> None:
    lines = lines_of({}, Source("kernel.ll", Job("", "function(sroa,instcombine)")))
    assert (lines["front"], lines["clang"], lines["numba"]) == ("", "", "@optctx.numba.njit(options={})")
    passes = "'-passes=function(sroa,instcombine)'"
    assert lines["opt"] == f"opt {passes} -relocation-model=pic -o kernel.opt.bc kernel.ll"
    assert lines_of({}, Source("-", Job("")))["clang"] == ""
    assert lines_of({}, Source("kernel.ll", Job("", reloc="default")))["clang"] == ""


def test_a_shell_gives_each_program_the_words_that_are_meant() -> None:
    """Whatever a file, a processor, an option or a value is called."""
    job, option = Job("", cpu=HOSTILE.replace(",", "")), f"-a{HOSTILE}={HOSTILE}"
    words = {
        name: shlex.split(line)
        for name, line in lines_of({f"a{HOSTILE}": HOSTILE}, Source(f"{HOSTILE}.c", job)).items()
        if name != "numba"
    }
    target = [f"-mcpu={HOSTILE}", "-relocation-model=pic"]
    out = ["-o", f"{HOSTILE}.opt.bc", f"{HOSTILE}.bc"]
    assert words["opt"] == ["opt", "-passes=default<O3>", *target, option, *out]
    assert words["llc"][-4:] == [option, "-o", f"{HOSTILE}.o", f"{HOSTILE}.opt.bc"]
    assert words["front"][-4:] == ["-o", f"{HOSTILE}.bc", "--", f"{HOSTILE}.c"]
    assert words["clang"][-7:] == ["-mllvm", option, "-c", "-o", f"{HOSTILE}.o", "--", f"{HOSTILE}.c"]
    # No name is taken for an option.
    assert lines_of({}, Source("-x.ll", Job("")))["opt"].endswith(" -o ./-x.opt.bc ./-x.ll")


@pytest.mark.skipif(
    not (shutil.which("opt") and shutil.which("llc")), reason="needs opt and llc (Debian: llvm)"
)
def test_opt_and_llc_take_the_lines(tmp_path: pathlib.Path) -> None:
    """Of any release: the module has no pointers, whose notation has changed."""
    (tmp_path / "tiny.ll").write_text(TINY)
    source = Source("tiny.ll", Job("", triple=X86, cpu="haswell", features="+avx2"))
    lines = lines_of({"unroll-count": "4", "inline-threshold": "100"}, source)
    for line in (lines["opt"], lines["llc"]):
        output_of(line, shell=True, cwd=tmp_path)
    assert (tmp_path / "tiny.o").read_bytes().startswith(b"\x7fELF")
    wrong = lines_of({"no-such-option": "1"}, source)
    run = subprocess.run(wrong["opt"], shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "no-such-option" in run.stderr


CLANG = next((name for name in ("clang", "clang-19") if shutil.which(name)), "")


@pytest.mark.skipif(not CLANG, reason="needs clang (Debian: clang)")
def test_clang_takes_its_lines(tmp_path: pathlib.Path) -> None:
    (tmp_path / "sum.c").write_text(
        "int sum(int *a, int n) { int s = N; while (n--) s += *a++; return s; }\n"
    )
    source = Source("sum.c", Job("", triple=X86, cpu="haswell"), clang=(CLANG, "-DN=8"))
    objects = set()
    for count in ("1", "7"):
        lines = lines_of({"unroll-count": count}, source)
        for line in (lines["front"], lines["clang"]):
            output_of(line, shell=True, cwd=tmp_path)
        objects.add((tmp_path / "sum.o").read_bytes())
    assert len(objects) == 2
    assert (tmp_path / "sum.bc").read_bytes().startswith(b"BC")
