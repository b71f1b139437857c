"""What an earlier version has pickled, fingerprinted and cached means the same (`kept.py`)."""

from __future__ import annotations

import base64
import json
import pickle

import pytest

from tests.promises.kept import COUNT, FILE, Kept, contexts, meaning

pytestmark = [pytest.mark.llvm22, pytest.mark.usefixtures("attached")]


@pytest.fixture(scope="module")
def kept() -> list[Kept]:
    found: list[Kept] = json.loads(FILE.read_text())
    assert len(found) == COUNT
    assert len({each["fingerprint"] for each in found}) > COUNT / 2
    return found


def test_a_pickle_is_the_context_that_it_was(kept: list[Kept]) -> None:
    for each, expected in zip(kept, contexts(), strict=True):
        found = pickle.loads(base64.b85decode(each["pickle"]))
        assert found == expected
        assert hash(found) == hash(expected)
        assert found.args() == expected.args() == each["args"]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_fingerprints_and_entries_of_caches_are_found_again(kept: list[Kept], step: int) -> None:
    wrong = []
    for each in kept[::step]:
        found = meaning(pickle.loads(base64.b85decode(each["pickle"])))
        wrong += [(name, found[name], each[name]) for name in found if found[name] != each[name]]
    assert wrong == []
