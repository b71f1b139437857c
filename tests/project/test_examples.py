"""The examples, run as a user would."""

from __future__ import annotations

import pathlib

import pytest

from tests.project.pages import Program, output_alone

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run_example(name: str) -> list[str]:
    text = (EXAMPLES / name).read_text().replace("__file__", repr(str(EXAMPLES / name)))
    return output_alone(Program("python", text, None), EXAMPLES).splitlines()


def test_a_pool_of_threads_without_any_scope() -> None:
    lines = run_example("thread_pool.py")
    assert [line.split(":")[0] for line in lines] == [f"unroll-count={count}" for count in (1, 2, 4, 8)]
    assert len({line.split(": ")[1] for line in lines}) == 4


def test_host_and_devices_in_one_process_give_what_separate_processes_give() -> None:
    lines = run_example("host_and_device.py")
    assert [line.split(":")[0] for line in lines] == ["host", "nvidia", "amd"]
    assert all(line.endswith("lines, as in a process of its own") for line in lines)


def test_what_optimises_after_linking_runs_with_the_options_of_the_compile_step() -> None:
    assert run_example("lto.py") == [
        "the linked module says: -force-vector-interleave=4",
        "options kept: 10 vector multiplications, as in a process with -force-vector-interleave=4",
        "options dropped: 2 vector multiplications, as in a process with no options",
    ]


def test_targets_of_tvm_on_threads_at_once() -> None:
    *lines, refused = run_example("tvm_target.py")
    assert len({line.split(": ")[-1] for line in lines}) == len(lines) == 3
    assert refused.startswith("'-unroll-count:string=4': LLVM registered 'unroll-count' as uint")


@pytest.mark.long
def test_a_search_on_threads_finds_what_one_after_the_other_finds() -> None:
    pytest.importorskip("optuna", reason="needs Optuna: pip install 'optctx[tune]'")
    ways, found = zip(*(line.split(" s, ") for line in run_example("autotune_threads.py")), strict=True)
    assert [way.split(":")[0] for way in ways] == ["scope", "lock"]
    assert len(set(found)) == 1
