"""Modules with hostile stamps, to what reads stamps, and through LLVM under what they set."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from llvmlite import binding

import optctx
from optctx import OptctxError, OptionContext, info
from optctx.values import CLASSES
from tests.long.fuzz.bases import Part, files, prepare
from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import Target
from tests.long.fuzz.modules import TRIPLES, attribute_text, compiled
from tests.long.fuzz.nodes import Node, stamp_nodes

_MEMORY = 1 << 30


@dataclass(frozen=True)
class StampCase:
    """Modules of nothing but metadata, except for the first one; linked, maybe, and read."""

    body: Part
    metadata: tuple[tuple[Node, ...], ...]  # of each module
    triple: str
    passes: str = ""
    linked: bool = False
    trust: tuple[str, ...] = ()
    opt_level: int = 2
    read: bool = True  # else LLVM parses and compiles it without optctx

    def texts(self) -> list[str]:
        """The IR of each module."""
        bodies = [self.body.text({}), *[""] * (len(self.metadata) - 1)]
        pairs = zip(bodies, self.metadata, strict=True)
        return ["\n".join((body, *map(str, nodes))) for body, nodes in pairs]


class StampsTarget(Target[StampCase]):
    name = "stamps"

    def __init__(self, seconds: float = 20) -> None:
        self.limits = Limits(seconds, _MEMORY)

    def prepare(self) -> None:
        prepare()
        optctx.attach()
        body = Part("counted.ll")
        names = ("unroll-count", "stats", attribute_text("é\u3042\u0301\U0001f600".encode()))
        for option in [f'!{{!"{name}", {text}}}' for name in names for text in ('!"0"', '!"2"', "null")]:
            stamps = (Node("!0 = !", ('!"1"', '!"m"', option)), Node("!1 = !", ('!"1"', '!"n"')))
            one = (Node("!optctx.options = !", ("!0",)), stamps[0])
            two = (Node("!optctx.options = !", ("!0", "!1")), *stamps)
            self.perform(StampCase(body, (one,), "", "default<O1>"))
            self.perform(StampCase(body, (one, two), "", "default<O1>", trust=CLASSES))
        for triple in TRIPLES:
            self.perform(StampCase(body, ((),), triple, "default<O3>", read=False))

    def make(self, random: Random) -> StampCase:
        triple = random.choice(TRIPLES)
        return StampCase(
            random.choice(files()),
            tuple(stamp_nodes(random, triple) for _ in range(random.choice((1, 1, 2, 3, 8)))),
            triple,
            random.choice(("default<O1>", "default<O2>", "default<O3>", "")),
            random.random() < 0.5,
            tuple(random.sample(CLASSES, random.randint(0, len(CLASSES)))),
            random.randrange(4),
        )

    def perform(self, case: StampCase) -> str:
        with contextlib.ExitStack() as kept:
            own = kept.enter_context(binding.create_context())
            try:
                modules = [kept.enter_context(binding.parse_assembly(text, own)) for text in case.texts()]
                if case.linked:
                    for other in modules[1:]:
                        modules[0].link_in(other, preserve=True)
                    del modules[1:]
            except RuntimeError:
                return "invalid"
            if case.triple:
                modules[0].triple = case.triple
            how = self._read(case, modules) if case.read else _compiled(case, modules[0])
        return "leaves a scope entered" if info()["active_scopes"] else how

    def stock(self, case: StampCase) -> StampCase:
        return replace(case, read=False)

    def _read(self, case: StampCase, modules: list[Any]) -> str:
        with contextlib.suppress(OptctxError):
            str(optctx.check_link(modules))
        with contextlib.suppress(OptctxError), OptionContext.from_module(modules[0], trust=case.trust):
            pass
        with contextlib.suppress(OptctxError), OptionContext.from_module(modules[0]):
            return _compiled(case, modules[0])
        return "refused"


def _compiled(case: StampCase, module: Any) -> str:
    target = binding.Target.from_triple(module.triple or binding.get_process_triple())
    try:
        machine = target.create_target_machine(opt=case.opt_level)
    except RuntimeError:
        return "refused"
    return compiled(module, machine, case.passes, "assembly")
