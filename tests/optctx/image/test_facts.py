"""What is true of one LLVM is in one place; a fact that is missing costs its feature and nothing else."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx.engine.attach import attach
from optctx.engine.host import default_host
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts import interceptions, machines, mangled_names
from optctx.image.facts.fact import Fact, named
from optctx.image.facts.interceptions import BINDING, missing_features
from optctx.image.loaded import Image
from tests.support.alone import alone
from tests.support.processes import forked
from tests.support.rows import rows
from tests.support.scopes import unrolled_by_llvmlite


def facts_of(module: object) -> list[Fact[Any]]:
    found = []
    for value in vars(module).values():
        several = (
            value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
        )
        found += [each for each in several if isinstance(each, Fact)]
    return found


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
    if feature == BINDING:
        bind = optctx.OptionContext(unroll_count=4).bind
        for use in (partial(bind, binding.create_context()), partial(optctx.attach, attributes="error")):
            with pytest.raises(optctx.UnsupportedImageError, match="the symbol none"):
                use()
        optctx.detach()
