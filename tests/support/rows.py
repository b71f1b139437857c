"""A table of cheap cases as one test."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def rows(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Call a test with each row of a table, and fail with all rows for which it fails.

    As `pytest.mark.parametrize` has it, for rows that cost less than a case of pytest's does: fixtures are
    those of the whole table, so a row must leave them as they were.
    """
    keys = (names,) if isinstance(names, str) else names
    cases = [dict(zip(keys, (row,) if isinstance(names, str) else row, strict=True)) for row in table]
    assert cases, "a table without rows proves nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)  # `alone` asks where it is defined
        def every_row(**fixtures: Any) -> None:
            failed = []
            for case in cases:
                try:
                    test(**fixtures, **case)
                except (Exception, pytest.fail.Exception):
                    said = traceback.format_exc(limit=-1)
                    failed.append(f"{', '.join(f'{key}={value!r}' for key, value in case.items())}\n{said}")
            assert not failed, f"{len(failed)} of {len(cases)} rows fail:\n" + "\n".join(failed)

        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in keys]
        every_row.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return every_row

    return decorate
