"""How many examples Hypothesis draws."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(count: int, **more: Any) -> settings:
    """Settings of a test: so many examples, and twenty times as many where every run draws others.

    `make test-long` does so. A number of the test's own would count there as well.
    """
    return settings(max_examples=count if settings().derandomize else 20 * count, **more)
