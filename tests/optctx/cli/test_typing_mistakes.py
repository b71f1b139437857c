"""A table of typing mistakes: each gets one line that says what was found, and what to write instead.

The table is `typing_mistakes/`: what is typed, and below it the whole line. `<NUMBER>` and `<TRIPLE>` stand
for what differs between machines.
"""

from __future__ import annotations

import pathlib
import re
import shlex
from collections.abc import Iterator

import pytest
from llvmlite import binding
from support import UNROLLED_ONCE, process_state, unrolled

import optctx
from optctx import OptionContext, current, registry, run_passes
from optctx.cli.main import main

TABLE = pathlib.Path(__file__).parent / "typing_mistakes"
KERNEL = pathlib.Path(__file__).parents[3] / "examples" / "kernel.ll"
MODULE = "define void @f() { ret void }"
PLACEHOLDERS = {"<NUMBER>": r"\d+", "<TRIPLE>": r"\S+"}
SENTENCES = 2  # that a message may have


def rows(name: str, prompt: str) -> Iterator[tuple[str, str]]:
    """(what is typed, the line that answers)."""
    for block in (TABLE / name).read_text().split("\n\n"):
        if block.strip():
            typed, answer = block.strip("\n").split("\n")
            assert typed.startswith(prompt)
            yield typed.removeprefix(prompt).strip(), answer


COMMANDS = dict(rows("command_line.txt", "$ optctx"))
PROGRAMS = dict(rows("python.txt", ">>> "))


def check(line: str, expected: str) -> None:
    pattern = re.escape(expected)
    for placeholder, form in PLACEHOLDERS.items():
        pattern = pattern.replace(re.escape(placeholder), form)
    assert re.fullmatch(pattern, line), f"found:    {line}\nexpected: {expected}"
    assert len(re.findall(r"[.!?] [A-Z]", line)) < SENTENCES
    assert "Errno" not in line


def test_the_table_is_large_enough() -> None:
    assert len(COMMANDS) + len(PROGRAMS) >= 40
    assert min(len(COMMANDS), len(PROGRAMS)) >= 20


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the commands of the table are typed."""
    (tmp_path / "kernel.ll").write_bytes(KERNEL.read_bytes())
    (tmp_path / "empty.ll").touch()
    (tmp_path / "broken.ll").write_text("define i32 @f( {\n")
    (tmp_path / "garbage.ll").write_bytes(b"\x7fELF\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "typed",
    [pytest.param(typed, marks=[pytest.mark.redirected] * typed.startswith("record ")) for typed in COMMANDS],
)
def test_a_command_gets_one_line_and_exit_status_2(typed: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(typed)) == 2
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    check(line, COMMANDS[typed])


@pytest.mark.parametrize("typed", PROGRAMS)
def test_a_program_gets_one_error_and_nothing_changes(typed: str, capfd: pytest.CaptureFixture[str]) -> None:
    before, expected = process_state(), PROGRAMS[typed]
    with OptionContext({"unroll-count": 4}, base="defaults") as context:
        names = {
            "OptionContext": OptionContext,
            "context": context,
            "module": binding.parse_assembly(MODULE),
            "registry": registry,
            "run_passes": run_passes,
        }
        with pytest.raises(Exception) as raised:  # noqa: PT011  # the class is part of the line
            exec(typed, names)
        check(f"{type(raised.value).__name__}: {raised.value}", expected)
        assert current() is context
        assert unrolled() == 4
    assert capfd.readouterr() == ("", "")
    assert process_state() == before
    assert unrolled() == UNROLLED_ONCE


@pytest.mark.redirected
def test_the_advice_of_the_table_works(capfd: pytest.CaptureFixture[str]) -> None:
    """What the messages tell the reader to write is accepted."""
    assert OptionContext.from_args("-unroll-count=4") == OptionContext({"unroll-count": 4})
    assert OptionContext({"arm-restrict-it": True}) == OptionContext({"arm-restrict-it": "true"})
    assert OptionContext({"pre-RA-sched": "source"})["pre-RA-sched"] == "source"
    assert OptionContext({"unroll-count": "4"}).get("unroll-count", int) == 4
    run_passes(binding.parse_assembly(MODULE), "default<O3>")
    for typed in (
        "show unroll-count",
        "list unroll-count",
        f"record {KERNEL} --cpu native --set unroll-count=4",
        f"record {KERNEL} --set arm-restrict-it=true --features=-avx2",
        f"record {KERNEL} --passes loop-unroll",
    ):
        assert main(shlex.split(typed)) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.redirected
def test_no_refusal_recommends_what_is_refused_as_well() -> None:
    recommended = set()
    for option in registry().values():
        if option.scope != "process":
            continue
        value = ["x"] if option.type == "list" else "true"
        with pytest.raises(optctx.ProcessWideOptionError) as refused:
            OptionContext({option.name: value})
        if "exclusive" in str(refused.value):
            recommended.add(option.name)
            try:
                OptionContext({option.name: value}, process_wide="exclusive")
            except optctx.ProcessWideOptionError as error:
                pytest.fail(f"the advice was to use what is refused: {error}")
            except optctx.OptionValueError:
                pass  # LLVM takes other values
        else:
            with pytest.raises(optctx.ProcessWideOptionError):
                OptionContext({option.name: value}, process_wide="exclusive")
    assert "time-passes" in recommended
