"""How the machine of properties runs on a program of another LLVM: here scripts stand for it."""

from __future__ import annotations

import hashlib
import pathlib
import sys
import textwrap

import pytest

from evidence.strategies.judging import Judge
from evidence.strategies.program import BYSTANDER, Outcome, Program, Seen, Step
from evidence.strategies.properties import PROPERTIES
from evidence.upstream import properties
from evidence.upstream.properties import PrototypeHost
from optctx.compiling import Job
from optctx.errors import OptctxError
from tests.support.rows import rows

pytestmark = pytest.mark.long

SET = ("-unroll-count=2",)
FOUND = "found another one"
COMPILE: Program = (Step(0, "compile", SET),)
# Compiles to the options in force: those of the scopes, and of the process where it leaks.
INTERPRETER = """
    import json, sys
    LEAKS = {leaks}
    process, scopes, seen = [], {{}}, []
    def values():
        print(*(f"  --{{word.strip('-').replace('=', ' = ')}}" for word in process if LEAKS), sep="\\n")
        print("--")
    values()
    for index, (thread, action, options) in enumerate(json.load(sys.stdin)):
        entered = scopes.setdefault(thread, [])
        if action == "enter":
            entered.append(options)
        elif action in ("leave", "fail"):
            entered.pop()
        elif action == "die":
            entered.clear()
        elif action == "set":
            process = options
        elif any("cout" in word for word in options):
            seen.append((index, None, "no such option"))
        else:
            inside = [] if action == "tool" else [word for each in entered for word in each]
            known = process if action == "plain" or LEAKS and not inside + options else []
            seen.append((index, " ".join(known + inside + options) or "none", None))
    values()
    print(json.dumps(seen))
"""


def program(folder: pathlib.Path, script: str) -> pathlib.Path:
    path = folder / "program"
    path.write_text(f"#!{sys.executable}\n" + textwrap.dedent(script))
    path.chmod(0o755)
    return path


def run(folder: pathlib.Path, script: str, steps: Program = COMPILE) -> Outcome:
    with PrototypeHost(program(folder, script), folder / "kernel.ll") as host:
        return host.run(steps)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_an_answer_becomes_what_the_steps_gave_and_what_changed_for_the_process(
    tmp_path: pathlib.Path,
) -> None:
    steps = (Step(2, "set", SET), Step(2, "plain"), Step(0, "compile", ("-unroll-cout=4",)))
    outcome = run(tmp_path, INTERPRETER.format(leaks=True), steps)
    assert outcome.seen == (
        Seen(1, digest("-unroll-count=2")),
        Seen(2, error="no such option"),
    )
    assert outcome.changed == ("unroll-count",)


def test_a_program_that_dies_or_waits_is_an_outcome(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = run(tmp_path, "import sys\nsys.exit('assertion failed')")
    assert died.death == "status 1: assertion failed"
    monkeypatch.setattr(properties, "_LONGEST", 0.2)
    waits = run(tmp_path, "import time\ntime.sleep(60)")
    assert waits.death == "it did not end in 0 s"


@rows("said", ["", "--\n--\n[]", "\n--\n\n--\n[[1]]", "\n--\n\n--\n{", "\n--\n\n--\n7"])
def test_what_is_no_answer_is_one_error(tmp_path: pathlib.Path, said: str) -> None:
    with pytest.raises(OptctxError, match="gave no answer"):
        run(tmp_path, f"import sys\nsys.stdout.write({said!r})")


@pytest.mark.parametrize("leaks", [False, True])
def test_properties_are_judged_against_another_llvms_own_processes(
    tmp_path: pathlib.Path, leaks: bool
) -> None:
    host = PrototypeHost(program(tmp_path, INTERPRETER.format(leaks=leaks)), tmp_path / "kernel.ll")

    def alone(options: tuple[str, ...]) -> str:
        return digest(" ".join(options) or "none")

    with Judge("another", Job(""), (SET,), host=host, alone=alone) as judge:
        assert judge.judge("obeyed", programs=4, seconds=20.0).holds
        stranger = Step(BYSTANDER, "set", SET), Step(0, "compile")
        problem = judge.problem(PROPERTIES["independence"], stranger)
    assert problem == (f"thread 1 compiles: expected the code of no options, {FOUND}" if leaks else "")
