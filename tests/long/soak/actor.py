"""One thread of a soak: its dice, and how it tells a right result from a wrong one."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import islice
from typing import Any

from llvmlite import binding

from optctx import CompileCache, OptionContext
from optctx.compiling import Result, compile_job
from tests.long.soak.answers import Answers, job
from tests.long.soak.inputs import MODULES, SETS, by_llvmlite, key_of
from tests.support.ir_texts import X86

__all__ = ["Actor", "Operation", "Shared", "WrongError", "context_of", "expect"]

Options = Mapping[str, str]


class WrongError(Exception):
    """A result that is not the known one, or an error that should not be or is missing."""


@dataclass
class Shared:
    """What all threads of a process use."""

    answers: Answers
    seed: int
    cache: CompileCache = field(default_factory=CompileCache)
    target_machine: Any = None  # of the operation "machines"
    fingerprints: dict[object, str] = field(default_factory=dict)

    def machine(self) -> Any:
        if self.target_machine is None:
            self.target_machine = new_machine()
        return self.target_machine


@dataclass
class Actor:
    """`main`: this is the main thread, which signals reach."""

    shared: Shared
    rng: random.Random
    main: bool = False
    child: bool = False  # of fork, or within another operation: nothing that takes long
    compiled: int = 0  # how often passes ran: each time, llvmlite 0.50 itself leaks 1.5 KB

    def options(self) -> Options:
        return self.rng.choice(SETS)

    def module(self) -> str:
        return self.rng.choice(sorted(MODULES))

    def check(self, *scopes: Options) -> None:
        """Compile under what this thread is inside of, which has to be these scopes, and compare."""
        name = self.module()
        self.compare(name, *scopes, by_optctx=self.rng.random() < 0.5)

    def compare(self, name: str, *scopes: Options, by_optctx: bool) -> None:
        key = key_of(*scopes)
        self.compiled += 1
        if by_optctx:
            self.judge(compile_job(job(name)), name, *scopes)
            return
        code, wanted = by_llvmlite(name), self.shared.answers.llvmlite[name, key]
        expect(code == wanted, f"llvmlite's {name} under {key}: {difference(code, wanted)}")

    def judge(self, result: Result, name: str, *scopes: Options) -> None:
        """Compare what `compile_job` gave."""
        wanted = self.shared.answers.passes[name, key_of(*scopes)]
        if result != wanted:
            words = result.error or difference(result.code.decode(), wanted.code.decode())
            raise WrongError(f"{name} under {key_of(*scopes)}: {words}")

    def judge_code(self, code: str, name: str, *scopes: Options) -> None:
        """Compare what `emit_assembly` gave."""
        self.compiled += 1
        wanted = self.shared.answers.passes[name, key_of(*scopes)].code.decode()
        expect(code == wanted, f"{name} under {key_of(*scopes)}: {difference(code, wanted)}")

    def inside(self, *scopes: Options) -> ExitStack:
        """Entered scopes, to be left by `with`."""
        stack = ExitStack()
        for options in scopes:
            stack.enter_context(context_of(options))
        return stack


Operation = Callable[[Actor], None]


def difference(found: str, wanted: str) -> str:
    """The first lines that differ, `-` of what was found and `+` of what was wanted."""
    lines = unified_diff(found.splitlines(), wanted.splitlines(), lineterm="", n=0)
    return "\n".join(islice(lines, 2, 12))


def expect(right: bool, words: str) -> None:
    if not right:
        raise WrongError(words)


def context_of(options: Options, **how: Any) -> OptionContext:
    return OptionContext(options, **how)


def new_machine() -> Any:
    return binding.Target.from_triple(X86).create_target_machine(opt=2, codemodel="default")
