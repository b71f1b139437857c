"""What attaching costs in memory, and that attaching again and again costs no more."""

from __future__ import annotations

import pytest

from tests.support.processes import run_python

pytestmark = pytest.mark.redirected

MEMORY = """
def memory():  # MiB: resident, and what no other process could share of it
    with open("/proc/self/smaps_rollup") as rollup:
        lines = [line.split() for line in rollup]
    sizes = {line[0]: int(line[1]) / 1024 for line in lines[1:]}
    return sizes["Rss:"], sizes["Anonymous:"]
"""


def test_attaching_keeps_neither_the_librarys_file_nor_its_code_resident() -> None:
    # evidence/benchmarks/attach.py holds CPython 3.11 to 60 and 20; other interpreters differ by some MiB.
    run_python(f"""
import llvmlite.binding
import optctx
{MEMORY}
before = memory()
optctx.attach()
resident, private = (now - was for now, was in zip(memory(), before))
assert resident < 60 and private < 24, (resident, private)
    """)


def test_a_cycle_of_detaching_and_attaching_leaks_nothing() -> None:
    run_python(f"""
import llvmlite.binding
import optctx
{MEMORY}

def cycle(times):
    for _ in range(times):
        with optctx.OptionContext({{"unroll-count": 4}}):
            pass
        optctx.detach()
    with open("/proc/self/maps") as maps:
        return memory()[1], len(list(maps))

private, mappings = cycle(25)
later, more = cycle(50)
assert later - private < 1 / 4 and more <= mappings + 2, (private, later, mappings, more)
    """)
