"""Command lines, against LLVM's own parser."""

from __future__ import annotations

from optctx import OptionContext, registry
from optctx.process import set_process_options
from tests.support.alone import alone

SEVERAL = [f"-regbankselect-{mode}" for mode in ("fast", "greedy", "fast")]
# The second is an alias.
SEVERAL += ["-aarch64-streaming-hazard-size=1", "-aarch64-stack-hazard-size=2"]
SEVERAL += ["-aarch64-streaming-hazard-size=3", "-print-after=a", "-print-before=b", "-print-after=c"]


@alone
def test_the_last_occurrence_counts_among_all_names_of_an_option() -> None:
    known = [each for each in SEVERAL if each[1:].partition("=")[0] in registry()]
    context = OptionContext.from_args(known)
    choices = {"regbankselect-fast": True, "regbankselect-greedy": True}
    keywords = OptionContext(choices, regbankselect_fast=True)
    set_process_options(known)
    for name in (each[1:].partition("=")[0] for each in known):
        assert context[name] == registry()[name].value, name
    assert keywords["regbankselect-fast"] == context["regbankselect-fast"]
    assert context["print-after"] == ["a", "c"]
