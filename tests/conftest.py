"""Fixtures and settings that every subject shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from optctx.fresh import FreshProcess

# The same examples on every run: a failure is a change of the code, never of the dice.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def fresh() -> Iterator[FreshProcess]:
    """The reference: what a process gives in which the options are set for everybody."""
    with FreshProcess() as fresh:
        yield fresh
