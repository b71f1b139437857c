"""Detaching and attaching again and again leaves no memory behind."""

from __future__ import annotations

import pathlib
import re

import optctx
from tests.support.alone import alone
from tests.support.processes import use_small_pages
from tests.support.scopes import four


@alone
def test_a_cycle_of_detaching_and_attaching_leaks_nothing() -> None:
    def cycle(times: int) -> tuple[float, int]:
        """MiB that no file backs, and mappings."""
        for _ in range(times):
            with four():
                pass
            optctx.detach()
        [private] = re.findall(r"Anonymous: +(\d+)", pathlib.Path("/proc/self/smaps_rollup").read_text())
        return int(private) / 1024, len(pathlib.Path("/proc/self/maps").read_text().splitlines())

    use_small_pages()
    (first, mappings), (second, _), (third, more) = cycle(12), cycle(12), cycle(12)
    # A leak grows each time; without the GIL, what allocators hold grows by 0.2 in the first cycles.
    assert min(second - first, third - second) < 1 / 8
    assert more <= mappings + 2
