"""Contexts made of the fields of dataclasses."""

from __future__ import annotations

import dataclasses
import re

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError, OptionTypeError


@dataclasses.dataclass
class Unrolling:
    unroll_count: int | None = None
    unroll_runtime: bool | None = None


@dataclasses.dataclass
class Groups:
    unrolling: Unrolling = dataclasses.field(default_factory=Unrolling)
    inline_threshold: int | None = None


def test_objects_and_groups_of_them_become_contexts() -> None:
    own = Unrolling(unroll_count=2, unroll_runtime=True)
    assert OptionContext.from_options(own) == OptionContext(unroll_count=2, unroll_runtime=True)
    context = OptionContext.from_options(Groups(own, 50), base="defaults")
    assert context.overrides == {"unroll-count": 2, "unroll-runtime": True, "inline-threshold": 50}
    assert OptionContext.from_options(Groups()).overrides == {}


@dataclasses.dataclass
class Count:
    unroll_count: object = None


@dataclasses.dataclass
class Twice:
    first: Count
    second: Count


def test_other_objects_get_one_clear_error() -> None:
    wrong: list[tuple[object, str]] = [
        ({"unroll-count": 4}, "an instance of a dataclass"),
        (Count, "found the class Count; make an instance"),
        (Twice(Count(1), Count(2)), "cannot set 'unroll-count' twice"),
        (Count([1]), "unroll-count"),
    ]
    for given, words in wrong:
        with pytest.raises(OptctxError, match=re.escape(words)) as raised:
            OptionContext.from_options(given)
        assert isinstance(raised.value, (OptionTypeError, ValueError)), given
