"""Which examples Hypothesis draws, and how many."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# How long an example takes depends on what else the machine does.
UNTIMED: dict[str, Any] = {
    "database": None,
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}
# The same examples on every run: a failure is a change of the code, never of the dice.
REPEATABLE = "repeatable"
settings.register_profile(REPEATABLE, derandomize=True, **UNTIMED)
# Other examples on every run, by `make test-long`, and more of them; a failure prints what repeats it.
settings.register_profile("long", max_examples=500, print_blob=True, **UNTIMED)

# Hypothesis also draws constants that it finds in the imported modules of the project. Which are imported
# depends on the tests that ran before in the same process: `derandomize` alone does not repeat what is drawn.
vars(providers)["is_local_module_file"] = lambda path: False


def examples(count: int, **more: Any) -> settings:
    """Settings of a test: so many examples, and twenty times as many where every run draws others.

    `make test-long` does so. A number of the test's own would count there as well.
    """
    return settings(max_examples=count if settings().derandomize else 20 * count, **more)
