"""The lines that compile a module once more: what they are, and that programs take them."""

from __future__ import annotations

import ast
import json
import pathlib
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from optctx.compiling import Job
from optctx.lab.repeat import Source, lines_of
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import output_of
from tests.support.rows import rows
from tests.support.tuning_cases import TINY

HOSTILE = "'; touch hacked; '\"$(touch hacked)`touch hacked`\\ \n\x1b\u202e\udcff7*?~ #{x}%s!"
SHELLS = [shell for shell in ("sh", "bash") if shutil.which(shell)]


def test_the_options_of_all_compilations_are_given_and_those_of_the_trial_on_top() -> None:
    options = {"unroll-count": "4", "force-vector-width": "default", "force-vector-interleave": "2"}
    base = ("-unroll-count=2", "-enable-gvn-hoist")
    job = Job(SCALE, "default<O3>", triple=X86, cpu="haswell", opt_level=1)
    lines = lines_of(options, Source("a.ll", job, options=base))
    given = "-enable-gvn-hoist -unroll-count=4 -force-vector-interleave=2"
    assert f"default<O3>' -mtriple={X86} -mcpu=haswell -relocation-model=pic {given} -o " in lines["opt"]
    decorator = lines["numba"].removeprefix("@optctx.numba.njit(options=").removesuffix(")")
    assert ast.literal_eval(decorator) == {
        "enable-gvn-hoist": "true",
        "unroll-count": "4",
        "force-vector-interleave": "2",
    }


def test_the_lines_for_a_shell() -> None:
    job = Job("", "default<O2>", triple=X86, cpu="haswell", features="+avx2,-fma", opt_level=3)
    source = Source("in/kernel.c", job, clang=("clang-19", "-DN=8", "-I", "a b"))
    target = (
        "-Xclang -target-cpu -Xclang haswell -Xclang -target-feature -Xclang +avx2 -Xclang -target-feature"
    )
    target = f"--target={X86} -fPIC {target} -Xclang -fma -DN=8 -I 'a b'"
    flags = f"-mtriple={X86} -mcpu=haswell -mattr=+avx2,-fma -relocation-model=pic -unroll-count=4"
    lines = lines_of({"unroll-count": "4", "inline-threshold": "default"}, source)
    assert lines["front"] == (
        f"clang-19 -c -emit-llvm -O2 -Xclang -disable-llvm-passes {target} -o kernel.bc -- in/kernel.c"
    )
    assert lines["opt"] == f"opt '-passes=default<O2>' {flags} -o kernel.opt.bc kernel.bc"
    assert lines["llc"] == f"llc -O3 -filetype=obj {flags} -o kernel.o kernel.opt.bc"
    assert lines["clang"] == f"clang-19 -O2 {target} -mllvm -unroll-count=4 -c -o kernel.o -- in/kernel.c"


def test_what_has_no_line_has_none() -> None:
    lines = lines_of({}, Source("kernel.ll", Job("", "function(sroa,instcombine)")))
    assert (lines["front"], lines["clang"], lines["numba"]) == ("", "", "@optctx.numba.njit(options={})")
    assert (
        lines["opt"]
        == "opt '-passes=function(sroa,instcombine)' -relocation-model=pic -o kernel.opt.bc kernel.ll"
    )
    assert lines_of({}, Source("-", Job("")))["clang"] == ""
    assert lines_of({}, Source("kernel.ll", Job("", reloc="default")))["clang"] == ""
    assert lines_of({}, Source("-x.ll", Job("")))["opt"].endswith(" -o ./-x.opt.bc ./-x.ll")


@rows("shell", SHELLS)
def test_a_shell_gives_each_program_the_words_that_are_meant(
    shell: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With a program in the place of each tool that notes what it is given."""
    tmp_path = tmp_path_factory.mktemp(shell)
    stand_in = (
        f"#!{sys.executable}\nimport json, os, sys\nargs = [os.fsencode(a).hex() for a in sys.argv[1:]]\n"
    )
    stand_in += "open(os.path.basename(sys.argv[0]) + '.json', 'a').write(json.dumps(args) + chr(10))\n"
    for tool in ("opt", "llc", "clang"):
        (tmp_path / tool).write_text(stand_in)
        (tmp_path / tool).chmod(0o755)
    source = Source(f"{HOSTILE}.c", Job("", cpu=HOSTILE.replace(",", "")), clang=("./clang",))
    plain = lines_of({f"a{HOSTILE}": HOSTILE}, source)
    source = replace(source, job=replace(source.job, passes=f"default<O3>{HOSTILE}"))
    made = lines_of({f"a{HOSTILE}": HOSTILE}, source)
    script = "\n".join([made["front"], f"./{made['opt']}", f"./{made['llc']}", plain["clang"]])
    run = subprocess.run(
        [shell], input=script.encode(errors="surrogateescape"), cwd=tmp_path, capture_output=True, timeout=60
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    given = {
        tool: [
            [bytes.fromhex(word).decode(errors="surrogateescape") for word in json.loads(line)]
            for line in (tmp_path / f"{tool}.json").read_text().splitlines()
        ]
        for tool in ("opt", "llc", "clang")
    }
    stem, option = HOSTILE.rpartition("/")[2], f"-a{HOSTILE}={HOSTILE}"
    assert given["opt"] == [
        [
            f"-passes=default<O3>{HOSTILE}",
            f"-mcpu={HOSTILE}",
            "-relocation-model=pic",
            option,
            "-o",
            f"{stem}.opt.bc",
            f"{stem}.bc",
        ]
    ]
    assert given["llc"][0][-4:] == [option, "-o", f"{stem}.o", f"{stem}.opt.bc"]
    assert given["clang"][0][-4:] == ["-o", f"{stem}.bc", "--", f"{HOSTILE}.c"]
    assert given["clang"][1][-7:] == ["-mllvm", option, "-c", "-o", f"{stem}.o", "--", f"{HOSTILE}.c"]
    assert not (tmp_path / "hacked").exists()


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
