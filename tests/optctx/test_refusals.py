"""What is refused: tables of what is attempted, and below it the whole line that answers.

The tables are `refusals/`: each kind of refusal once, at one door.
`<NUMBER>`, `<TRIPLE>`, `<ADDRESS>` and `<WORDS>` stand for what differs between machines and interpreters.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

import optctx
from optctx import OptionContext, current, registry, run_passes
from optctx.compiling import FreshProcess, Job
from optctx.lab.command.main import main
from tests.optctx import refused_objects
from tests.support.garbage import left_behind, no_collector
from tests.support.installed import FREE_THREADED, NEEDS_NUMBA
from tests.support.ir_texts import SCALE, X86
from tests.support.scopes import UNROLLED_ONCE, process_state, unrolled

TABLES = pathlib.Path(__file__).parent / "refusals"
KERNEL = pathlib.Path(__file__).parents[2] / "examples" / "kernel.ll"
PLACEHOLDERS = {"<NUMBER>": r"\d+", "<TRIPLE>": r"\S+", "<ADDRESS>": "0x[0-9a-f]+", "<WORDS>": ".+"}
NAMES = {
    name: getattr(place, name) for place in (optctx, refused_objects) for name in place.__all__
}  # what the rows of programs may use
# Tables of programs that need something, and all others.
GROUPS = {name: {name} for name in ("attributes", "llvm22", "numba")}
GROUPS["everywhere"] = {path.stem for path in TABLES.iterdir()}.difference(["commands"], *GROUPS.values())
MARKS = {
    "llvm22": [pytest.mark.llvm22],
    "numba": [pytest.mark.skipif(FREE_THREADED, reason=NEEDS_NUMBA)],
}
SENTENCES = 2  # that a message may have
OF_PROCESS = {"opt-bisect-limit": "0", "opt-bisect": "0"}  # where "x" is no value


def rows(name: str, prompt: str) -> Iterator[tuple[str, str]]:
    """(what is typed, the line that answers)."""
    for block in (TABLES / f"{name}.txt").read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("# ")]
        if lines:
            typed, answer = lines
            assert typed.startswith(prompt)
            yield typed.removeprefix(prompt).strip(), answer


def differs(typed: str, answer: str, expected: str) -> str:
    """What is wrong with the answer; nothing if it is as the table says."""
    pattern = re.escape(expected)
    for placeholder, form in PLACEHOLDERS.items():
        pattern = pattern.replace(re.escape(placeholder), form)
    if not re.fullmatch(pattern, answer):
        return f"{typed}\nfound:    {answer}\nexpected: {expected}"
    if len(re.findall(r"[.!?] [A-Z]", answer)) >= SENTENCES or "Errno" in answer:
        return f"{typed}\nis answered at too great length: {answer}"
    return ""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what the tables say is typed."""
    (tmp_path / "kernel.ll").write_bytes(KERNEL.read_bytes())
    (tmp_path / "empty.ll").touch()
    for name in ("c.c", "c.ll"):
        (tmp_path / name).write_text("int f(int x) { return x + 1; }\n")
    (tmp_path / "garbage.ll").write_bytes(b"\x7fELF\xff\xfe\x00")
    (tmp_path / "cut.bc").write_bytes(refused_objects.module.as_bitcode()[:200])
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
def test_each_command_gets_its_line_and_exit_status_2(capfd: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for typed, expected in rows("commands", "$ optctx"):
        status = main(shlex.split(typed))
        out, err = capfd.readouterr()
        wrong.append(differs(typed, err.removesuffix("\n"), expected))
        if (status, out) != (2, ""):
            wrong.append(f"{typed}\nexit status {status}, and on standard output: {out}")
    assert "\n\n".join(filter(None, wrong)) == ""


def answer_of(typed: str, names: dict[str, Any]) -> str:
    """The error that Python shows in its last line, or else what the expression gives."""
    try:
        return str(eval(compile(typed, "<row>", "exec" if typed.startswith("with ") else "eval"), names))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.usefixtures("attached", "folder")
@pytest.mark.parametrize("group", [pytest.param(name, marks=MARKS.get(name, [])) for name in GROUPS])
def test_each_attempt_gets_its_line_and_nothing_changes(
    group: str, capfd: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    if group in ("attributes", "llvm22"):
        request.getfixturevalue("attributes")  # elsewhere none counts
    names = dict(NAMES)
    if group == "numba":
        names["numba"] = importlib.import_module("optctx.numba")
    before, wrong = process_state(), list[str]()
    attempts = [row for table in sorted(GROUPS[group]) for row in rows(table, ">>> ")]
    with OptionContext({"unroll-count": 4}, base="defaults") as context:
        names["context"] = context
        with no_collector():
            for typed, expected in attempts:
                wrong.append(differs(typed, answer_of(typed, dict(names)), expected))
                if (current() is context, unrolled(), capfd.readouterr()) != (True, 4, ("", "")):
                    wrong.append(f"{typed}\nchanges the scope, or something is printed")
            if not FREE_THREADED:  # where the collector also frees what another thread has made
                assert left_behind() == [], "an error is in a cycle, and may keep objects of its caller"
    assert "\n\n".join(filter(None, wrong)) == ""
    assert process_state() == before
    assert unrolled() == UNROLLED_ONCE


def test_the_advice_of_the_tables_works(capfd: pytest.CaptureFixture[str]) -> None:
    """What the messages tell the reader to write is accepted."""
    assert OptionContext.from_args("-unroll-count=4") == OptionContext({"unroll-count": 4})
    assert OptionContext({"arm-restrict-it": True}) == OptionContext({"arm-restrict-it": "true"})
    assert OptionContext({"pre-RA-sched": "source"})["pre-RA-sched"] == "source"
    assert OptionContext({"unroll-count": "4"}).get("unroll-count", int) == 4
    run_passes(refused_objects.module, "default<O3>")
    sets = "--set unroll-count=4 --set arm-restrict-it=true"
    record = f"record {KERNEL} --llc='-mcpu=native -mattr=-avx2' {sets} --passes loop-unroll"
    for typed in ("options unroll-count", record):
        assert main(shlex.split(typed)) == 0
    assert capfd.readouterr().err == ""


def test_each_process_wide_option_is_refused_with_its_reason_and_advice_that_works(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before, followed, advised = process_state(), {}, 0
    with FreshProcess() as fresh:
        for option in registry().values():
            if option.scope != "process":
                continue
            value = ["x"] if option.type == "list" else "true"
            with pytest.raises(optctx.ProcessWideOptionError) as refused:
                OptionContext({option.name: value})
            assert (refused.value.name, refused.value.reason) == (option.name, option.reason)
            assert option.reason in str(refused.value)
            advised += "FreshProcess" in str(refused.value)
            if "FreshProcess" in str(refused.value) and (advised % 16 == 1 or option.name in OF_PROCESS):
                job = Job(SCALE, triple=X86, options=(f"-{option.name}={OF_PROCESS.get(option.name, 'x')}",))
                followed[option.name] = fresh.compile(job)
    assert followed["opt-bisect-limit"].stderr.startswith("BISECT: NOT running pass")
    assert advised > 50
    assert process_state() == before
    assert capfd.readouterr() == ("", "")
