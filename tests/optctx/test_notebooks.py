"""What a notebook shows: short texts, tables whose cells are escaped, and names to complete."""

from __future__ import annotations

import pathlib

import pytest

from optctx import CompileCache, Drift, Drifts, record, registry
from optctx.compiling import Job, compile_job
from optctx.wording import html_table
from tests.support.ir_texts import COUNTED, UNROLL, X86

pytestmark = pytest.mark.usefixtures("attached")


def test_tables_are_escaped_and_say_what_they_leave_out() -> None:
    evil = "<script>alert(1)</script>\x1b[2J\u202e"
    page = html_table(evil, (evil,), ([evil] for _ in range(150)), 150)
    assert "<script" not in page
    assert page.isprintable()
    assert page.count("<tr>") == 101
    assert "the first 100 of 150 rows" in page


def test_objects_are_tables_and_short_texts(tmp_path: pathlib.Path) -> None:
    drifts = Drifts({f"o{i}": Drift(f"o{i}", 1, 2, 3) for i in range(20)})
    with record() as log:
        assert compile_job(Job(COUNTED, UNROLL, triple=X86)).error is None
    for shown, cell in ((registry(), "unroll"), (drifts, "o19"), (log, "MachineBlockPlacement")):
        assert cell in shown._repr_html_()
        assert len(repr(shown)) < 200
    cache = CompileCache(tmp_path / "cache")
    assert repr(cache) == f"<CompileCache in {str(tmp_path / 'cache')!r}: 0 hits, 0 misses>"
