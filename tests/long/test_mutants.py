"""The mutations of `make mutants` fit the code as it is."""

from __future__ import annotations

from tests.long.mutants.__main__ import ROOT
from tests.long.mutants.mutation import CORE, MUTATIONS, CannotMutateError, mutated


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
