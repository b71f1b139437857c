"""Options of clang, opt and llc that the library lacks: each is named, with what does the same here."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from optctx import OptionContext, UnknownOptionError, registry
from optctx.lab.command.main import main
from optctx.values.tool_flags import TOOL_FLAGS
from tests.support.scopes import process_state

SENTENCE = re.compile(r"-(\S+) is an option of ([\w, -]+), not of LLVM's library; \S.+")
# The names of the table that are no patterns, by the programs that have them.
NAMES = {
    name: programs
    for programs, names, _ in TOOL_FLAGS
    for name in names.split()
    if re.fullmatch(r"[\w-]+", name)
}
PATTERNS = {
    "O3": "the programs clang and opt",
    "ffast-math": "clang",
    "fno-plt": "clang",
    "mavx2": "clang",
    "mno-avx2": "clang",
    "passes-ep-peephole": "opt",
}
REPORTED = ("fp-contract", "function-sections", "frame-pointer", "float-abi", "march", "mattr", "fPIC")
SOME_LLVMS_HAVE = {"ffast-math", "vector-library"}
DOORS: list[Callable[[str], object]] = [
    lambda name: OptionContext({name: "on"}),
    lambda name: OptionContext.from_args([f"-{name}=on"]),
    lambda name: OptionContext.from_args(f"--{name}"),
    lambda name: registry()[name],
]


def test_each_name_gets_the_programs_that_have_it_and_what_does_the_same(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert NAMES.keys() >= set(REPORTED)
    assert len(NAMES) > 150
    before = process_state()
    assert NAMES.keys() & set(registry()) <= SOME_LLVMS_HAVE
    known = {**NAMES, **PATTERNS}
    for name in sorted({*list(NAMES)[::4], *REPORTED, *PATTERNS} - {*registry()}):
        programs, some = known[name], name in PATTERNS or name in REPORTED  # others at one door
        found = {answer(door, name) for door in (DOORS if some else DOORS[:1])}
        if some:
            assert main(["record", "kernel.ll", "--set", f"{name}=on"]) == 2
            found.add(capfd.readouterr().err.removeprefix("optctx: ").removesuffix("\n"))
        [said] = found
        stated = SENTENCE.fullmatch(said.removeprefix(f"no LLVM option is called {name!r}: "))
        assert stated is not None, said
        assert stated.groups() == (name, programs)
        if some:
            assert main(["sweep", "kernel.ll", f"--{name}=on"]) == 2
            words = f"optctx: `optctx sweep` does not take '--{name}=on': {stated[0]}\n"
            assert capfd.readouterr() == ("", words)
    assert process_state() == before


def answer(door: Callable[[str], object], name: str) -> str:
    with pytest.raises(UnknownOptionError) as refused:
        door(name)
    return str(refused.value)
