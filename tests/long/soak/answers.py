"""What every module gives under every option set: each set in a process of its own, that never attaches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from optctx.compiling import Job, Result, compile_job, llvm_pool
from optctx.process import set_process_options
from tests.long.soak.inputs import MODULES, PASSES, Key, by_llvmlite, keys
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
    """Raises RuntimeError where a process gives no code."""
    answers = Answers({}, {})
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(_answers_under, keys()):
            answers.passes.update(found.passes)
            answers.llvmlite.update(found.llvmlite)
    return answers


def _answers_under(key: Key) -> Answers:
    done = llvm_pool().call(answer, key, gives=Answers)
    if done.value is None or any(result.error for result in done.value.passes.values()):
        raise RuntimeError(f"no answer for {key}: {done}")
    return done.value


def answer(_: None, key: Key) -> Answers:
    """In a child."""
    set_process_options(key)
    return Answers(
        {(name, key): compile_job(job(name)) for name in MODULES},
        {(name, key): by_llvmlite(name) for name in MODULES},
    )
