"""What every module gives under every option set, from fresh processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from optctx.compiling import FreshProcess, Job, Result
from tests.long.soak.inputs import MODULES, PASSES, Key, cases
from tests.support.ir_texts import X86

__all__ = ["Answers", "job", "known_answers"]


def job(name: str) -> Job:
    return Job(MODULES[name], PASSES, triple=X86, emit="assembly")


@dataclass(frozen=True)
class Answers:
    """By module and option set: of optctx's own passes and emission, and of llvmlite's."""

    passes: dict[tuple[str, Key], Result]
    llvmlite: dict[tuple[str, Key], str]


def known_answers() -> Answers:
    """Raises RuntimeError where a fresh process gives no code."""
    with FreshProcess() as fresh, ThreadPoolExecutor(4) as pool:
        wanted = list(cases())
        jobs = [Job(MODULES[name], PASSES, key, X86, emit="assembly") for name, key in wanted]
        passes = dict(zip(wanted, pool.map(fresh.compile, jobs), strict=True))
    for case, result in passes.items():
        if result.error is not None:
            raise RuntimeError(f"no answer for {case}: {result.error}")
    command = [sys.executable, "-m", "tests.long.soak.stock", "answers"]
    llvmlite = pickle.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return Answers(passes, llvmlite)
