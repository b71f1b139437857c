"""What attaching costs in memory, and that attaching again and again costs no more."""

from __future__ import annotations

import pathlib

import optctx
from tests.support.alone import alone
from tests.support.processes import use_small_pages
from tests.support.scopes import four


def memory() -> tuple[float, float]:
    """MiB: resident, and what no file backs."""
    lines = [line.split() for line in pathlib.Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]]
    sizes = {name: int(size) / 1024 for name, size, *_ in lines}
    return sizes["Rss:"], sizes["Anonymous:"]


@alone
def test_attaching_keeps_neither_the_librarys_file_nor_its_code_resident() -> None:
    # It was 8 and 19, with nothing kept yet. evidence/benchmarks/attach.py holds CPython 3.11 to 60 and 20;
    # other interpreters differ by some MiB.
    use_small_pages()
    before = memory()
    optctx.attach()
    resident, private = (now - was for now, was in zip(memory(), before, strict=True))
    assert resident < 60
    assert private < 24


@alone
def test_a_cycle_of_detaching_and_attaching_leaks_nothing() -> None:
    def cycle(times: int) -> tuple[float, int]:
        for _ in range(times):
            with four():
                pass
            optctx.detach()
        return memory()[1], len(pathlib.Path("/proc/self/maps").read_text().splitlines())

    use_small_pages()
    private, mappings = cycle(20)
    later, more = cycle(20)
    assert later - private < 1 / 8  # 0.02 in the first cycles, and nothing in later ones
    assert more <= mappings + 2
