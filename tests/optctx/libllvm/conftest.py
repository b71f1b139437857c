"""The LLVM that these tests open."""

from __future__ import annotations

import pytest

from tests.support.own_llvm import PARTS, link


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An LLVM with one target."""
    return link(tmp_path_factory.mktemp("own") / "libLLVM-19.so", *PARTS, "x86")
