"""What is true of one LLVM is in one place; a fact that is missing costs its feature and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx.engine.attach import attach
from optctx.engine.host import default_host
from optctx.errors import UnsupportedImageError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts import interceptions, machines, mangled_names
from optctx.image.facts.fact import Fact, Family, named
from optctx.image.facts.interceptions import BINDING, missing_features, why_missing
from optctx.image.findings import Findings
from optctx.image.loaded import Image
from tests.support.alone import alone
from tests.support.processes import forked
from tests.support.rows import rows
from tests.support.scopes import unrolled_by_llvmlite


@dataclass
class FakeImage:
    """An image that has nothing but these symbols."""

    symbols: dict[str, int] = field(default_factory=dict)
    path: str = "/lib/libfake.so"
    base: int = 0
    is_stripped: bool = False

    @property
    def findings(self) -> Findings:
        return Findings(self)  # type: ignore[arg-type]

    def named(self, name: str) -> SimpleNamespace | None:
        numbers = {own: number for number, own in enumerate(self.symbols, 1)}
        return self.numbered(numbers.get(name, 0))

    def numbered(self, number: int) -> SimpleNamespace | None:
        if not 0 < number <= len(self.symbols):
            return None
        name = list(self.symbols)[number - 1]
        return SimpleNamespace(name=name, address=self.symbols[name], number=number)

    def functions_named(self, patterns: list[tuple[str, str]]) -> list[list[SimpleNamespace | None]]:
        return [
            [self.named(name) for name in self.symbols if name.startswith(prefix) and infix in name]
            for prefix, infix in patterns
        ]

    __hash__ = object.__hash__


def facts_of(module: object) -> list[Fact[Any]]:
    found = []
    for value in vars(module).values():
        several = (
            value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
        )
        found += [each for each in several if isinstance(each, Fact)]
    return found


def test_the_newest_name_counts_and_a_missing_fact_is_told_with_every_name() -> None:
    forms = Fact("llvm::f", (("new", 16), ("old", 8)))
    found = FakeImage({"old": 1, "new": 2}).findings.need(forms)
    assert (found.address, found.symbol, found.form) == (2, "new", 16)
    assert FakeImage({"old": 1}).findings.need(forms).form == 8
    assert FakeImage().findings.find(forms) is None
    fact, family = named("llvm::f", "new", "old"), Family("llvm::g", "begins", "holds")
    with pytest.raises(
        UnsupportedImageError,
        match=r"/lib/libfake.so: expected llvm::f \(the symbol new or old\), found none",
    ):
        FakeImage().findings.need(fact)
    assert FakeImage().findings.lacking([fact, family]) == (
        "expected llvm::f (the symbol new or old), llvm::g (the symbol begins...holds...), found none"
    )
    assert FakeImage({"old": 1, "begins_and_holds": 2}).findings.lacking([fact, family]) == ""


def test_an_image_without_facts_lacks_every_feature_and_says_why() -> None:
    missing = missing_features(FakeImage())  # type: ignore[arg-type]
    assert len(missing) == 6
    assert all(reason.startswith("expected ") for reason in missing.values())
    assert why_missing(FakeImage(), BINDING) == missing[BINDING]  # type: ignore[arg-type]


def test_this_llvm_has_every_fact() -> None:
    image: Image = llvmlite_image()
    everything = [fact for module in (mangled_names, machines) for fact in facts_of(module)]
    rows = (*interceptions.INTERCEPTIONS, *default_host().interceptions())
    everything += [row.what for row in rows if isinstance(row.what, Fact)]
    assert len(everything) > 70
    assert [fact.what for fact in everything if image.findings.find(fact) is None] == []
    assert missing_features(image) == {}
    assert attach().plan.unavailable == {}
    assert mangled_names.VTABLE == "_ZTV"


LACKING = named("llvm::f", "none")


@alone
@rows(("feature", "refused"), [("contexts bound to LLVMContexts", 62), ("debug output for one thread", 64)])
@forked
def test_scopes_work_without_it(feature: str, refused: int) -> None:
    if feature == BINDING:
        interceptions._FEATURES[BINDING] = (LACKING,)
    else:
        pytest.MonkeyPatch().setattr("optctx.image.storage_beside.IS_DEBUG_TYPE", LACKING)
    [image] = optctx.info()["images"]
    with optctx.OptionContext(unroll_count=4):
        assert unrolled_by_llvmlite() == 4
    [(told, reason)] = image["unavailable"].items()
    assert told == feature
    assert "expected llvm::f (the symbol none), found none" in reason
    assert image["scopes"]["process"] == refused, image["scopes"]


@alone
def test_what_cannot_be_intercepted_is_told_where_a_context_is_bound() -> None:
    interceptions._FEATURES[BINDING] = (LACKING,)
    context = optctx.OptionContext(unroll_count=4)
    uses: list[Callable[[], object]] = [
        lambda: context.bind(binding.create_context()),
        lambda: optctx.attach(attributes="error"),
    ]
    for use in uses:
        with pytest.raises(optctx.UnsupportedImageError) as caught:
            use()
        assert "expected llvm::f (the symbol none), found none; enter" in str(caught.value)
    with context:
        pass
    optctx.detach()
