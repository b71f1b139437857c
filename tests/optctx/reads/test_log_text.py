"""A log as text."""

from __future__ import annotations

import pytest

from optctx import OptionContext, record
from tests.support.scopes import four, unrolled

pytestmark = [pytest.mark.usefixtures("attached")]


def test_a_log_prints_as_two_tables_and_a_summary() -> None:
    with record() as log:
        unrolled()
        with four(slp_threshold=7):
            unrolled()
    lines = str(log).splitlines()
    blank = lines.index("")
    assert lines[0].split() == ["option", "value", "read", "by"]
    assert [line.split()[0] for line in lines[1:blank]] == list(log.reads)
    [row] = [line for line in lines[1:blank] if line.startswith("unroll-count ")]
    assert row.split(maxsplit=1)[1].split("  ")[0] == "0 then 4"
    assert row.endswith("llvm::computeUnrollCount")
    assert lines[blank + 2].split()[:2] == ["slp-threshold", "7"]
    assert log.unread[0].cause in lines[blank + 2]
    assert lines[-1] == f"{len(log.reads)} options read, 1 override not read"
    assert repr(log) == f"<Log: {lines[-1]}>"


def test_an_override_equal_to_the_process_wide_value_is_noted_where_it_was_read() -> None:
    with record() as log, OptionContext({"unroll-count": 0}, base="defaults"):
        unrolled()
    assert log.unread == []
    assert log.reads["unroll-count"].note == "read, but equal to its process-wide value"
    assert "(read, but equal to its process-wide value)" in str(log)
    with record() as log, OptionContext({"unroll-count": 0}):
        unrolled()
        with four():  # in one of two scopes it is another
            unrolled()
    assert log.reads["unroll-count"].note == ""
    with record() as log:
        unrolled()
    assert log.reads["unroll-count"].note == ""  # nothing overrides it
