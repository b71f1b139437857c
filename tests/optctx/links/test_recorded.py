"""Command lines that clang recorded stand for stamps, in modules that have none."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
from llvmlite import binding

from optctx import (
    LinkMismatchError,
    OptctxError,
    OptionContext,
    UnknownOptionError,
    UntrustedOptionError,
    check_link,
    stamp,
)
from optctx.lab.command.main import main
from optctx.trust import CLASSES
from tests.support.links_modules import context_of, linked, module_of, through_bitcode

# As clang 14 writes it. In IR, a backslash in a string is written twice.
CLANG = "/usr/lib/llvm-14/bin/clang -O2 -c -emit-llvm -frecord-command-line"
QUOTED = rf"{CLANG} -mllvm -print-after=x\\ y -D X=a\\\\\\ b -D E= sp\\ ace/b\\\\c.c -o -"


def recorded(name: str, *lines: str) -> binding.ModuleRef:
    nodes = ", ".join(f"!{number}" for number in range(len(lines)))
    written = "".join(f'!{number} = !{{!"{line}"}}\n' for number, line in enumerate(lines))
    function = f'define internal void @"{name.partition(".")[0]}"() {{ ret void }}'
    return module_of(name, body=f"{function}\n!llvm.commandline = !{{{nodes}}}\n{written}")


def options_of(line: str) -> dict[str, object]:
    return dict(OptionContext.from_module(recorded("a.c", line), trust=CLASSES).overrides)


def test_what_follows_mllvm_is_read_as_clang_gives_it_to_llvm() -> None:
    cases: dict[str, dict[str, object]] = {
        f"{CLANG} a.c -O3 -funroll-loops -unroll-count=9": {},
        f"{CLANG} -mllvm -unroll-count=4 a.c": {"unroll-count": 4},
        f"{CLANG} -mllvm -unroll-count -mllvm 4 a.c": {"unroll-count": 4},
        f"{CLANG} -mllvm=--unroll-count=4 a.c": {"unroll-count": 4},
        f"{CLANG} -Xclang -mllvm -Xclang -unroll-count=4 a.c": {"unroll-count": 4},
        f"{CLANG} -Xclang -unroll-count=4 a.c -mllvm -unroll-count=5": {"unroll-count": 5},
        f"{CLANG} -mllvm -print-after=x -mllvm -print-after=y a.c": {"print-after": ["x", "y"]},
        QUOTED: {"print-after": ["x y"]},
        "x86_64-linux-gnu-clang++-19 -mllvm -unroll-count=4 a.cpp": {"unroll-count": 4},
    }
    for line, expected in cases.items():
        assert options_of(line) == expected, line


def test_modules_that_were_never_stamped_are_compared() -> None:
    four, eight = (recorded(f"{n}.c", f"{CLANG} -mllvm -unroll-count={n} {n}.c") for n in (4, 8))
    report = check_link([four, through_bitcode(eight), module_of("plain.c")], context_of({"unroll-count": 4}))
    assert [str(each) for each in report] == ["'unroll-count' is 4 in 4.c, the link step but 8 in 8.c"]
    assert (report.recorded, report.stamped, report.unstamped) == (("4.c", "8.c"), (), ("plain.c",))
    assert report.summary() == "1 option differs among 2 with a recorded command line"
    both = linked(four, eight, four)
    (mismatch,) = check_link([both])
    assert [said.modules for said in mismatch.said] == [("command line 1",), ("command line 2",)]
    with pytest.raises(LinkMismatchError, match=r"'command line 1' and .*'command line 2'"):
        OptionContext.from_module(both)
    assert OptionContext.from_module(linked(four, four)) == context_of({"unroll-count": 4})
    unknown = recorded("new.c", f"{CLANG} -mllvm -no-such-option=1 new.c")
    assert "'no-such-option' is '1' in new.c but not given in 4.c" in check_link([unknown, four]).words()
    with pytest.raises(UnknownOptionError, match=r"module 'new\.c'.*no-such-option"):
        OptionContext.from_module(unknown)


def test_a_stamp_is_the_later_word() -> None:
    module = recorded("a.c", f"{CLANG} -mllvm -unroll-count=4 a.c")
    stamp(module, context_of({"unroll-count": 8}))
    assert OptionContext.from_module(module) == context_of({"unroll-count": 8})
    report = check_link([module, recorded("b.c", f"{CLANG} -mllvm -unroll-count=8 b.c")])
    assert not report
    assert report.summary() == "no option differs among 1 stamped and 1 with a recorded command line"


def test_hostile_command_lines_are_refused_by_name() -> None:
    many = " -mllvm -unroll-count=4" * 5000
    cases = {
        f"{CLANG} -mllvm -stats a.c": (UntrustedOptionError, "'stats' is not accepted from a module"),
        f"{CLANG}{many}": (UntrustedOptionError, "at most 4,096 options are read"),
        f"{CLANG} {'x' * (1 << 20)}": (UntrustedOptionError, "each of at most 1,048,576 bytes"),
        r"\\ff": (OptctxError, "one of '"),
        "ldc2 -unroll-count=4 a.d": (OptctxError, "one of 'ldc2', expected clang or flang"),
        "": (OptctxError, "one of ''"),
        r"clang \ff": (OptctxError, "in UTF-8"),
        r"clang\00 -mllvm -unroll-count=4": (OptctxError, "expected clang or flang"),
        f"{CLANG} -mllvm": (OptctxError, "'a.c'"),
    }
    for line, (kind, words) in cases.items():
        module = recorded("a.c", line)
        before = str(module)
        with pytest.raises(kind, match=words) as raised:
            OptionContext.from_module(module)
        assert len(str(raised.value)) < 700
        assert str(module) == before
    other = check_link([recorded("a.d", "ldc2 -unroll-count=4 a.d")], require_stamps=True)
    assert (bool(other), other.unstamped) == (True, ("a.d",))
    odd = module_of("a.c", body='!llvm.commandline = !{!0}\n!0 = !{!"clang", i32 1}')
    with pytest.raises(OptctxError, match=r"expected !llvm\.commandline to hold"):
        check_link([odd])


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_files_of_clang_on_this_machine_are_compared(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, count in (("with space.c", "4"), ("b.c", "8")):
        source = tmp_path / name
        source.write_text(f"int {name[0]}(int *p) {{ return *p; }}")
        files.append(str(source.with_suffix(".bc")))
        given = ["-frecord-command-line", "-mllvm", f"-unroll-count={count}", str(source), "-o", files[-1]]
        subprocess.run(["clang", "-O1", "-c", "-emit-llvm", *given], check=True)
    assert main(["check-link", *files]) == 1
    out, err = capfd.readouterr()
    assert err == ""
    assert "1 option differs among 2 with a recorded command line" in out
    assert main(["check-link", files[0], files[0]]) == 0
