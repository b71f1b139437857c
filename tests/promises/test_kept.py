"""What an earlier version has pickled, fingerprinted and cached means the same (`kept.py`)."""

from __future__ import annotations

import base64
import json
import pickle

import pytest

from tests.promises.kept import COUNT, FILE, Kept, contexts, meaning

pytestmark = [pytest.mark.llvm22, pytest.mark.usefixtures("attached")]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_pickles_fingerprints_and_entries_of_caches_mean_what_they_did(step: int) -> None:
    kept: list[Kept] = json.loads(FILE.read_text())
    assert len(kept) == COUNT
    for number, (each, expected) in enumerate(zip(kept, contexts(), strict=True)):
        found = pickle.loads(base64.b85decode(each.pop("pickle")))
        assert (found, hash(found)) == (expected, hash(expected))
        assert found.args() == expected.args() == each["args"]
        if number % step == 0:
            assert meaning(found) == each
