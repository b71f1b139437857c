"""The machine of properties of optctx, on the prototype: Hypothesis looks for programs that break one."""

from __future__ import annotations

import hashlib
import json
import subprocess
from functools import cache
from pathlib import Path

from evidence.strategies.judging import Judge
from evidence.strategies.kernel import KERNEL
from evidence.strategies.program import Outcome, Program, Seen
from evidence.strategies.properties import PROPERTIES, Verdict
from optctx.compiling import Job
from optctx.errors import OptctxError

from .setup import Setup
from .shell import UpstreamError, run

# Read in passes whose files every run rebuilds.
OPTIONS = (
    ("-force-vector-width=2",),
    ("-force-vector-width=8",),
    ("-force-vector-interleave=4",),
    ("-unroll-count=2",),
)
_PASSES = "default<O2>"
_PROGRAMS, _SECONDS = 30, 20.0
_LONGEST = 60.0  # seconds that a program may take


class PrototypeHost:
    """Runs each program in a process of the patched LLVM."""

    def __init__(self, program: Path, source: Path) -> None:
        self._words = [str(program), str(source), _PASSES]

    def __enter__(self) -> PrototypeHost:
        return self

    def __exit__(self, *error: object) -> None:
        """Every process has ended."""

    def run(self, program: Program) -> Outcome:
        """Raises OptctxError for an answer that is none."""
        steps = json.dumps(program)
        try:
            done = subprocess.run(self._words, input=steps, capture_output=True, text=True, timeout=_LONGEST)
        except subprocess.TimeoutExpired:
            return Outcome(death=f"it did not end in {_LONGEST:.0f} s")
        if done.returncode:
            return Outcome(death=f"status {done.returncode}: {done.stderr.strip()[-300:]}")
        try:
            before, after, told = done.stdout.split("\n--\n")
            seen = [
                Seen(step, digest_of(text) if text is not None else "", error or "")
                for step, text, error in json.loads(told)
            ]
        except (TypeError, ValueError) as error:
            raise OptctxError(f"{self._words[0]} gave no answer: {done.stdout[-300:]}") from error
        differing = set(before.splitlines()) ^ set(after.splitlines())
        changed = sorted({line.split()[0].lstrip("-") for line in differing if line.split()})
        return Outcome(tuple(sorted(seen)), tuple(changed))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def judge_prototype(setup: Setup, program: Path) -> list[Verdict]:
    """Every property. What a process has to give is what Debian's opt gives. Raises UpstreamError."""
    raw, source = setup.build / "kernel.ll", setup.build / "properties.ll"
    raw.write_text(KERNEL)
    source.write_text(run([setup.tool("opt"), "-S", "-passes=verify", raw]))  # with the target's data layout

    @cache
    def alone(options: tuple[str, ...]) -> str:
        return digest_of(run([setup.tool("opt"), "-S", f"-passes={_PASSES}", *options, source]))

    host = PrototypeHost(program, source)
    try:
        with Judge("source-prototype", Job(KERNEL), OPTIONS, host=host, alone=alone) as judge:
            return [judge.judge(name, programs=_PROGRAMS, seconds=_SECONDS) for name in PROPERTIES]
    except OptctxError as error:
        raise UpstreamError(str(error)) from error
