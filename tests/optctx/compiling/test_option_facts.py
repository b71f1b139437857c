"""Facts are what the registry says, as plain data, and what tools ask of names and values."""

from __future__ import annotations

import re

import pytest

from optctx import registry
from optctx.compiling.facts import facts, resolve, trusted

pytestmark = pytest.mark.usefixtures("attached")


def test_what_it_says_is_what_the_registry_says() -> None:
    taken = facts()
    assert [option.name for option in taken.options] == sorted(registry())
    for found in taken.options:
        option = registry()[found.name]
        assert (found.type, found.scope, found.storage, found.hidden, found.aliases, found.read_by) == (
            *(option.type, option.scope, option.storage, option.hidden, option.aliases, option.read_by),
        )
        assert (found.default, found.value, list(found.choices)) == (
            *(option.default, option.value, list(option.choices)),
        )
        assert found.reason == re.sub(" at 0x[0-9a-f]+", "", option.reason)
        assert found.alias_of == (option.alias_of or found.alias_of)


def test_what_a_stranger_may_set_is_of_the_class_and_between_the_bounds() -> None:
    given = [("unroll-count", "4"), ("unroll-count", "4000000000"), ("cfg-dot-filename-prefix", "x")]
    assert [trusted(*each) for each in given] == [True, False, False]


def test_names_are_resolved() -> None:
    assert resolve("-unroll-count") == "unroll-count"
    alias = next(name for name, option in registry().items() if option.alias_of)
    assert resolve(alias) == registry()[alias].alias_of
