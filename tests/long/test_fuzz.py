"""The fuzz target: a short run of it finds nothing, and it finds what it is there for."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import Hunt, Target
from tests.support.cpp_build import ROOT

pytestmark = pytest.mark.long


SHORT = {  # cases, arguments, and of what it counts (summed) there has to be more than so many
    "modules": (75, (), {"compiled": 25, "refused warned": 5}),
    "stamps": (60, (), {"compiled": 5, "refused": 15}),
    "sets": (40, ("--jobs", "40"), {"compiled": 35, "pairs": 4_000}),
}


@pytest.mark.parametrize("target", SHORT)
def test_a_short_run_finds_nothing(target: str) -> None:
    cases, more, least = SHORT[target]
    command = [sys.executable, "-W", "error", "-m", "tests.long.fuzz", "--target", target]
    words = ["--seed", "7", "--cases", str(cases), *more]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    said = done.stdout.split()
    numbers = {name.strip(",;"): int(number) for number, name in pairwise(said) if number.isdigit()}
    assert numbers["cases"] == cases
    found = {kinds: sum(numbers.get(kind, 0) for kind in kinds.split()) for kinds in least}
    assert [kinds for kinds, most in least.items() if found[kinds] <= most] == [], found


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
        self.seen: set[int] = set()

    def make(self, random: Random) -> tuple[str, ...]:
        return ("hostile", *(str(random.randrange(50)) for _ in range(8)))

    def perform(self, case: tuple[str, ...]) -> str:
        self.seen.update(map(int, case[1:]))
        if "13" in case:
            self.faults[case[0]]()
        return "compiled"

    def stock(self, case: tuple[str, ...]) -> tuple[str, ...]:
        return ("stock", *case[1:])

    def smaller(self, case: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield from (case[:at] + case[at + 1 :] for at in range(1, len(case)))


def crash() -> None:
    ctypes.string_at(0)


FAULTS: dict[str, tuple[Callable[[], object], str]] = {
    "reads a file": (lambda: os.open("/etc/passwd", os.O_RDONLY), "reaches outside"),
    "starts a program": (lambda: os.posix_spawn("/bin/true", ["true"], {}), "reaches outside"),
    "maps code": (lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_EXEC | mmap.PROT_READ), "reaches outside"),
    "prints": (lambda: os.write(2, b"words"), "prints; prints 'words'"),
    "crashes": (crash, "dies of SIGSEGV"),
    "exits": (lambda: os._exit(3), "exits with 3"),
    "raises": (lambda: {"y": 0}["x"], "raises KeyError: 'x'"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_a_confined_case_is_found_and_made_small(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fault, words = FAULTS[kind]
    hunt = Hunt(Numbers(fault))
    hunt.run_batch(1, 8)  # the last of them has 13
    assert hunt.findings
    for finding in hunt.findings:
        assert finding.cases == (("hostile", "13"),)
        assert str(finding).startswith(words)
        assert "perform(('hostile', '13'))" in str(finding)
    assert os.listdir(tmp_path) == []


def test_a_hang_of_a_confined_case_is_found() -> None:
    """By the limit that a case has, which no harmless one comes near to: they are not among these."""
    hunt = Hunt(Numbers(lambda: [None for _ in iter(int, 1)], seconds=1))
    hunt.target.make = lambda random: ("hostile", "13")  # type: ignore[method-assign]
    hunt.run_batch(1, 1)
    [finding] = hunt.findings
    assert finding.outcome.how == "hangs"


def test_what_stock_llvm_does_too_is_no_finding() -> None:
    hunt = Hunt(Numbers(crash, crash))
    hunt.run_batch(1, 8)
    assert hunt.counts["compiled"] < 8
    assert hunt.findings == []
    hunt = Hunt(Numbers(lambda: os.open("/", 0), lambda: os.write(1, b"words")))
    hunt.run_batch(1, 8)
    assert hunt.findings  # printing excuses nothing else
