"""Other releases of llvmlite, from PyPI. `make images` tries those left out here, too."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.optctx.engine.attached_plan import KEPT
from tests.support.wheels import (
    REFUSED,
    TAKEN,
    UnreachableError,
    check_refused,
    check_taken,
    has_wheel,
    plans_of,
)

T = TypeVar("T")

LEFT_OUT = {"0.45.1", "0.46.0", "0.48.0"}  # the LLVM of 0.47.0, its library, and the LLVM of 0.49.0
pytestmark = pytest.mark.long


@pytest.mark.parametrize("version", [each for each in (*REFUSED, *TAKEN) if each not in LEFT_OUT])
def test_it_is_taken_or_refused_before_anything_is_changed(version: str) -> None:
    with_wheel(check_refused if version in REFUSED else check_taken, version)


@pytest.mark.parametrize("version", TAKEN)
def test_attaching_decides_what_earlier_versions_of_this_package_decided(version: str) -> None:
    kept = json.loads(KEPT.read_text())[version]
    assert with_wheel(plans_of, version) == (kept, kept)  # cold and warm


def with_wheel(work: Callable[[str], T], version: str) -> T:
    if not has_wheel(version):
        pytest.skip(f"PyPI has no wheel of llvmlite {version} for this Python")
    try:
        return work(version)
    except UnreachableError as error:
        pytest.skip(f"PyPI cannot be reached: {error}")
