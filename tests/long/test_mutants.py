"""The mutations of `make mutants` fit the code as it is, and their runner sees what a run comes to."""

from __future__ import annotations

import pathlib

import pytest

from tests.long.mutants.__main__ import ROOT
from tests.long.mutants.mutation import CORE, MUTATIONS, CannotMutateError, Mutation, mutated


def test_every_mutation_has_its_place_in_the_code() -> None:
    wrong = []
    for each in MUTATIONS.values():
        try:
            mutated(each, ROOT)
        except CannotMutateError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


def test_the_core_part_is_there() -> None:
    assert not [name for name in CORE if not (ROOT / name).is_file()]


@pytest.mark.parametrize(
    ("text", "found"), [("a b", "no file"), ("a = 1\na = 1\n", "optctx/file.py, optctx/file.py")]
)
def test_a_mutation_without_its_one_place_says_so(tmp_path: pathlib.Path, text: str, found: str) -> None:
    (tmp_path / "optctx").mkdir()
    (tmp_path / "optctx" / "file.py").write_text(text)
    with pytest.raises(CannotMutateError, match=f"is in {found}; expected it once; adapt the mutation"):
        mutated(Mutation("name", "what", "", "a = 1\n", "a = 2\n"), tmp_path)
