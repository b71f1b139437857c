"""The fuzz target: a short run of it finds nothing, and it finds what it is there for."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import Hunt, Target
from tests.support.processes import python_process


@pytest.mark.llvm22
def test_a_short_run_finds_nothing() -> None:
    """The tool still fits the package."""
    done = python_process("-m", "tests.long.fuzz", "--seed", "7", "--cases", "8", "--jobs", "8")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    said = re.findall(r"(\w+), seed 7: 8 cases, .*?\b[1-9] compiled", done.stdout)
    assert said == ["modules", "stamps", "sets"], done.stdout
    assert re.search(r"[1-9]\d* refused", done.stdout)


@dataclass(frozen=True)
class Case:
    numbers: tuple[int, ...]
    hostile: bool = True


class Numbers(Target[Case]):
    """A target of numbers, which goes wrong where 13 is among them."""

    name = "numbers"

    def __init__(
        self,
        fault: Callable[[], object],
        stock: Callable[[], object] = lambda: None,
        seconds: float = Limits.seconds,
    ) -> None:
        self.limits = Limits(seconds)
        self.faults = {True: fault, False: stock}

    def make(self, random: Random) -> Case:
        return Case(tuple(random.randrange(50) for _ in range(8)))

    def perform(self, case: Case) -> str:
        if 13 in case.numbers:
            self.faults[case.hostile]()
        return "compiled"

    def stock(self, case: Case) -> Case:
        return replace(case, hostile=False)


FAULTS: dict[str, Callable[[], object]] = {
    "reaches outside, by a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "reaches outside, by a program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "reaches outside, by code": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_EXEC | mmap.PROT_READ),
    "prints; prints 'words'": lambda: os.write(2, b"words"),
    "dies of SIGSEGV": lambda: ctypes.string_at(0),
    "exits with 3": lambda: os._exit(3),
    "raises KeyError: 'x'": lambda: {"y": 0}["x"],
}


@pytest.mark.long
def test_a_fault_of_a_confined_case_is_found_and_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words, fault in FAULTS.items():
        hunt = Hunt(Numbers(fault))
        hunt.run_batch(1, 8)  # the last of them has 13
        assert hunt.findings
        for finding in hunt.findings:
            assert finding.cases == (Case((13,)),)
            assert str(finding).startswith(words.partition(", by ")[0])
    assert os.listdir(tmp_path) == []
    # A hang, by the limit that a case has, which no harmless one comes near to: they are not among these.
    hunt = Hunt(Numbers(lambda: [None for _ in iter(int, 1)], seconds=1))
    hunt.target.make = lambda random: Case((13,))  # type: ignore[method-assign]
    hunt.run_batch(1, 1)
    [finding] = hunt.findings
    assert finding.outcome.how == "hangs"


@pytest.mark.long
def test_what_stock_llvm_does_too_is_no_finding() -> None:
    crash = FAULTS["dies of SIGSEGV"]
    hunt = Hunt(Numbers(crash, crash))
    hunt.run_batch(1, 8)
    assert hunt.counts["compiled"] < 8
    assert hunt.findings == []
    hunt = Hunt(Numbers(lambda: os.open("/", 0), lambda: os.write(1, b"words")))
    hunt.run_batch(1, 8)
    assert hunt.findings  # printing excuses nothing else
