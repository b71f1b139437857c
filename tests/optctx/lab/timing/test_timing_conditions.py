"""What is said of the machine beside a time, and the settings of a measurement."""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib

import pytest

from optctx.errors import OptctxError
from optctx.lab.settings import add_flags, checked, taken
from optctx.lab.timing import Conditions, Measuring, ProcessorLock, Tolerance, conditions
from optctx.lab.timing import processors as allowed
from optctx.lab.timing.processors import isolated_processors

FILES = {
    "isolated": "2-3,7\n",
    "intel_pstate/no_turbo": "1\n",
    "cpu3/cpufreq/scaling_governor": "powersave\n",
    "cpu3/topology/thread_siblings_list": "1,3\n",
}


def described(folder: pathlib.Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def test_a_machine_is_described_as_linux_does(tmp_path: pathlib.Path) -> None:
    system = described(tmp_path, FILES)
    found = conditions(3, system)
    assert found == Conditions(3, "powersave", False, True, (1,), found.load)
    assert str(found).startswith(
        "processor 3, isolated, shares its core with 1; governor powersave; turbo off;"
    )
    assert isolated_processors(system) == {2, 3, 7}
    assert conditions(3, described(tmp_path, {"intel_pstate/no_turbo": "0"})).turbo is True
    boosted = conditions(0, described(tmp_path / "boosted", {"cpufreq/boost": "1", "isolated": "\n"}))
    assert (boosted.turbo, boosted.isolated) == (True, False)


def test_what_a_machine_does_not_say_is_unknown(tmp_path: pathlib.Path) -> None:
    for place, files in enumerate(({}, dict.fromkeys(FILES, "\xff nonsense"), {"isolated": "9" * 5000})):
        system = described(tmp_path / str(place), {**files, "cpu3/cpufreq/scaling_governor": ""})
        found = conditions(3, system)
        assert (found.turbo, found.siblings) == (None, None)
        assert "turbo unknown" in str(found)
        assert "governor unknown" in str(found)


def test_isolated_processors_are_measured_on_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1001, 1002, 1003})  # which no one locks
    module = importlib.import_module("optctx.lab.timing.processors")  # a function hides it
    monkeypatch.setattr(module, "isolated_processors", lambda: {1001})
    assert allowed() == [1001, 1003, 1002, 0]
    with ProcessorLock() as lock:
        assert lock.number == 1001


def measuring(*words: str) -> Measuring:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_flags(parser, Measuring)
    return taken(parser.parse_args(words), Measuring)


def test_the_settings_of_a_measurement_are_flags_and_python_has_the_same_checks() -> None:
    assert measuring() == Measuring()
    found = measuring("--tolerance=1e-6,1e-9", "--measure-seconds=2.5", "--processor=1", "--entry=f")
    assert found == Measuring("f", tolerance=Tolerance(1e-6, 1e-9), measure_seconds=2.5, processor=1)
    assert measuring("--tolerance=0.5").tolerance == Tolerance(0.5)
    for words, expected in {
        "--tolerance=1,2,3": "expected REL or REL,ABS",
        "--tolerance=-1": "expected REL or REL,ABS",
        "--tolerance=nan": "expected REL or REL,ABS",
        "--tolerance=inf": "expected REL or REL,ABS",
        "--tolerance=x": "such as 1e-6 or 0,1e-9, found 'x'",
    }.items():
        with pytest.raises(argparse.ArgumentError, match=expected):
            measuring(words)
    with pytest.raises(OptctxError, match="expected the number of a processor"):
        checked(Measuring(processor=-1))
