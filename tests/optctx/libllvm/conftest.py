"""The LLVM that these tests open."""

from __future__ import annotations

import pytest

from tests.support.own_llvm import PARTS, link


@pytest.fixture(scope="session")
def library() -> str:
    """An LLVM with two targets."""
    return link("-Wl,--build-id", *PARTS, "x86", "nvptx")
