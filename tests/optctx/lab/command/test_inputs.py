"""What the commands compile: IR as text or bitcode, by any name, and C and C++ through clang."""

from __future__ import annotations

import json
import pathlib
import shutil
import stat
import sys

import pytest

from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.command.inputs import read_input
from optctx.lab.command.main import main
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.runs import bitcode

TARGET = Job("", triple=X86, cpu="haswell", features="+avx2,-fma")
SOURCE = """void scale(float *o, const float *a, int n) {
  for (int i = 0; i < n; i++) o[i] = a[i] * FACTOR;
}
"""


def test_bitcode_is_known_by_its_first_bytes(tmp_path: pathlib.Path) -> None:
    for name, data in (("text.bc", SCALE), ("named.ll", bitcode(SCALE))):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        assert read_input(str(path), TARGET) == data


def test_damaged_bitcode_is_an_error_however_it_is_damaged(tmp_path: pathlib.Path) -> None:
    whole = bitcode(COUNTED)
    path = tmp_path / "damaged.bc"
    # The first is one that LLVM may not survive.
    for data in (whole[:600] + bytes(64) + whole[664:], b"\xde\xc0\x17\x0b" + bytes(16)):
        path.write_bytes(data)
        with pytest.raises(OptctxError, match=r"cannot read .+damaged.bc: \S"):
            read_input(str(path), TARGET)


# In place of clang: notes how it was called, and answers with a module or an error.
STAND_IN = """#!{python}
import pathlib, sys
folder = pathlib.Path(__file__).parent
(folder / "arguments").write_text("\\n".join(sys.argv[1:]))
if (folder / "error").exists():
    sys.exit((folder / "error").read_text())
sys.stdout.buffer.write((folder / "module").read_bytes())
"""


@pytest.fixture
def stand_in(tmp_path: pathlib.Path) -> pathlib.Path:
    program = tmp_path / "program"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "module").write_bytes(bitcode(SCALE))
    (tmp_path / "a.cpp").write_text(SOURCE)
    return program


def test_clang_gets_the_target_and_the_options_and_what_it_says_is_one_line(
    stand_in: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    path = str(tmp_path / "a.cpp")
    made = read_input(path, TARGET, f"{stand_in} -Dx='a b' -Iinclude")
    assert made == bitcode(SCALE)
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[-6:] == ["-Dx=a b", "-Iinclude", "-o", "-", "--", path]
    for each in ("-disable-llvm-passes", f"--target={X86}", "-target-cpu", "haswell", "+avx2", "-fma"):
        assert each in arguments
    (tmp_path / "module").write_bytes(bitcode(SCALE)[:40])
    with pytest.raises(OptctxError, match=r"cannot read .* older clang than .* with --clang"):
        read_input(path, TARGET, str(stand_in))
    (tmp_path / "error").write_text(
        "a.cpp:1: note: first\na.cpp:2:5: error: no such thing\n1 error generated.\n"
    )
    with pytest.raises(OptctxError, match=r"clang says: a.cpp:2:5: error: no such thing$"):
        read_input(path, TARGET, str(stand_in))
    with pytest.raises(OptctxError, match="cannot use --clang"):
        read_input(path, TARGET, f"{stand_in} '")


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang (Debian: clang)")
def test_c_compiles_through_clang_for_the_processor_that_is_asked_for(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scale.c").write_text(SOURCE)
    command = ["sweep", str(tmp_path / "scale.c"), "--clang=clang -DFACTOR=3", "--format=json"]
    digests = set()
    for cpu in ("x86-64", "haswell"):
        assert main([*command, f"--llc=-mtriple={X86} -mcpu={cpu}", "--try=unroll-count=1,4"]) == 0
        digests |= {row["attributes"]["digest"] for row in json.loads(capfd.readouterr().out)}
    assert len(digests) == 4
