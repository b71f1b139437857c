"""What changes code of the real library by hand, in a process of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

import pytest

from optctx._native import Transaction, read_bytes
from optctx.engine.engine import Clock, Engine, _trampolines
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.survey import survey
from tests.support.alone import alone_with
from tests.support.library_code import changed_code

P = ParamSpec("P")
Sites = list[tuple[int, bytes, bytes]]  # address, the bytes there, the new code


@functools.cache
def prepare() -> tuple[Sites, int, int]:
    """What attaching would redirect, and where the library's code begins and ends; nothing is attached."""
    image = llvmlite_image()
    sites = list(_trampolines(image, Engine(survey(image, ()), Clock()).plan))
    assert len(sites) > 5000
    assert changed_code() == []
    return sites, image.text_begin, image.text_end


def prepared(test: Callable[P, None]) -> Callable[P, None]:
    """Run a test as `alone` does, in a process that has surveyed the library and planned all sites."""
    return alone_with(after=prepare)(test)


def as_before(sites: Sites) -> bool:
    return all(read_bytes(address, len(code)) == code for address, code, _ in sites) and not changed_code()


def refused(words: str, sites: Sites, begin: int, end: int) -> None:
    """Such a transaction is refused with these words."""
    with pytest.raises(RuntimeError, match=words):
        Transaction(sites, begin, end)
