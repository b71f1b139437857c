"""Options of clang, opt and llc that the library lacks: each is named, with what does the same here."""

from __future__ import annotations

import re

import pytest

from optctx import OptionContext, UnknownOptionError, registry
from optctx.lab.command.main import main
from optctx.values.tool_flags import TOOL_FLAGS

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
REPORTED = ("fp-contract", "frame-pointer", "march", "fPIC")
SOME_LLVMS_HAVE = {"ffast-math", "vector-library"}


def test_each_name_gets_the_programs_that_have_it_and_what_does_the_same(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert NAMES.keys() >= set(REPORTED)
    assert len(NAMES) > 150
    assert NAMES.keys() & set(registry()) <= SOME_LLVMS_HAVE
    known = {**NAMES, **PATTERNS}
    for name in sorted({*list(NAMES)[::4], *REPORTED, *PATTERNS} - {*registry()}):
        with pytest.raises(UnknownOptionError) as refused:
            OptionContext({name: "on"})
        said = str(refused.value)
        stated = SENTENCE.fullmatch(said.removeprefix(f"no LLVM option is called {name!r}: "))
        assert stated is not None, said
        assert stated.groups() == (name, known[name])
        if name in REPORTED:
            assert main(["record", "kernel.ll", "--set", f"{name}=on"]) == 2
            assert capfd.readouterr().err == f"optctx: {said}\n"
            assert main(["sweep", "kernel.ll", f"--{name}=on"]) == 2
            words = f"optctx: `optctx sweep` does not take '--{name}=on': {stated[0]}\n"
            assert capfd.readouterr() == ("", words)
