"""The fuzz target: a short run of it finds nothing, and it finds what it is there for."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import Hunt, Target
from tests.support.processes import python_process


@pytest.mark.llvm22
@pytest.mark.parametrize("cases", [8, pytest.param(75, marks=pytest.mark.long)])
def test_a_short_run_finds_nothing(cases: int) -> None:
    """The short one shows that the tool still fits the package."""
    words = ["--seed", "7", "--cases", str(cases), "--jobs", str(cases)]
    done = python_process("-m", "tests.long.fuzz", *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    said = re.findall(rf"(\w+), seed 7: {cases} cases, .*?\b(\d+) compiled", done.stdout)
    assert [name for name, _ in said] == ["modules", "stamps", "sets"]
    assert all(int(compiled) > cases // 20 for _, compiled in said), done.stdout
    assert re.search(r"[1-9]\d* refused", done.stdout)


class Numbers(Target[tuple[str, ...]]):
    """A target of numbers, which goes wrong where 13 is among them."""

    name = "numbers"

    def __init__(
        self,
        fault: Callable[[], object],
        stock: Callable[[], object] = lambda: None,
        seconds: float = Limits.seconds,
    ) -> None:
        self.limits = Limits(seconds)
        self.faults = {"hostile": fault, "stock": stock}

    def make(self, random: Random) -> tuple[str, ...]:
        return ("hostile", *(str(random.randrange(50)) for _ in range(8)))

    def perform(self, case: tuple[str, ...]) -> str:
        if "13" in case:
            self.faults[case[0]]()
        return "compiled"

    def stock(self, case: tuple[str, ...]) -> tuple[str, ...]:
        return ("stock", *case[1:])

    def smaller(self, case: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield from (case[:at] + case[at + 1 :] for at in range(1, len(case)))


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
            assert finding.cases == (("hostile", "13"),)
            assert str(finding).startswith(words.partition(", by ")[0])
            assert "perform(('hostile', '13'))" in str(finding)
    assert os.listdir(tmp_path) == []
    # A hang, by the limit that a case has, which no harmless one comes near to: they are not among these.
    hunt = Hunt(Numbers(lambda: [None for _ in iter(int, 1)], seconds=1))
    hunt.target.make = lambda random: ("hostile", "13")  # type: ignore[method-assign]
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
