"""Modules with hostile stamps, to what reads stamps, and through LLVM under what they set."""

from __future__ import annotations

import contextlib
import gc
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from llvmlite import binding

import optctx
from optctx import OptctxError, OptionContext, info
from optctx.compiling import initialise_targets
from optctx.lab.command import check_link_command
from optctx.trust import CLASSES
from tests.long.fuzz.bases import Part, draw_part, files
from tests.long.fuzz.confined import Limits
from tests.long.fuzz.module_case import attribute_text
from tests.long.fuzz.modules import TRIPLES
from tests.long.fuzz.nodes import fewer, stamp_lines

__all__ = ["StampCase", "StampsTarget"]

_MEMORY = 1 << 30


@dataclass(frozen=True)
class StampCase:
    """Modules of nothing but metadata, except for the first one; linked, maybe, and read."""

    body: Part
    metadata: tuple[tuple[str, ...], ...]  # lines of each module
    triple: str
    passes: str
    linked: bool = False
    trust: tuple[str, ...] = ()
    opt_level: int = 2
    read: bool = True  # else LLVM parses and compiles it without optctx

    def texts(self) -> list[str]:
        """The IR of each module."""
        bodies = [self.body.text({}), *[""] * (len(self.metadata) - 1)]
        return ["\n".join((body, *lines)) for body, lines in zip(bodies, self.metadata, strict=True)]


class StampsTarget:
    """See `Target` in tests/long/fuzz/hunt.py."""

    name = "stamps"
    again = (
        "from tests.long.fuzz.bases import Part\n"
        "from tests.long.fuzz.stamps import StampCase, StampsTarget\n"
        "target = StampsTarget()"
    )

    def __init__(self, seconds: float = 20) -> None:
        self.limits = Limits(seconds, _MEMORY)

    def prepare(self) -> None:
        initialise_targets()
        binding.initialize_all_asmprinters()
        optctx.attach()
        body = Part("counted.ll")
        names = ("unroll-count", "stats", attribute_text("é\u3042\u0301\U0001f600".encode()))
        for nodes in [f'!"{name}", {text}' for name in names for text in ('!"0"', '!"2"', "null")]:
            one = ("!optctx.options = !{!0}", f'!0 = !{{!"1", !"m", !{{{nodes}}}}}')
            two = ("!optctx.options = !{!0, !1}", one[1], '!1 = !{!"1", !"n"}')
            self.perform(StampCase(body, (one,), "", "default<O1>"))
            self.perform(StampCase(body, (one, two), "", "default<O1>", trust=CLASSES))
        for triple in TRIPLES:
            self.perform(StampCase(body, ((),), triple, "default<O3>", read=False))
        for file in files():
            Part(file).text({})
        gc.collect()
        gc.freeze()  # children share these pages

    def make(self, random: Random) -> StampCase:
        count = random.choice((1, 1, 2, 3, 8))
        body = draw_part(random)
        triple = random.choice(TRIPLES)
        return StampCase(
            body,
            tuple(stamp_lines(random, triple) for _ in range(count)),
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

    def smaller(self, case: StampCase) -> Iterator[StampCase]:
        for at, lines in enumerate(case.metadata):
            rest = case.metadata[:at], case.metadata[at + 1 :]
            if at or len(case.metadata) == 1:
                yield from (replace(case, metadata=(*rest[0], less, *rest[1])) for less in fewer(lines))
            if at:
                yield replace(case, metadata=(*rest[0], *rest[1]))
            elif len(case.metadata) > 1:
                yield replace(case, metadata=case.metadata[:1])
                yield replace(case, metadata=case.metadata[1:])
                yield from (replace(case, metadata=(less, *rest[1])) for less in fewer(lines))
        if case.linked:
            yield replace(case, linked=False)
        if case.trust:
            yield replace(case, trust=())
        if case.passes:
            yield replace(case, passes="")
        for function in case.body.defined:
            for body in case.body.without(function):
                yield replace(case, body=body)

    def words(self, case: StampCase) -> str:
        lines = " ".join(line for lines in case.metadata for line in lines)
        more = f" ({len(lines)} characters)" if len(lines) > 400 else ""
        trust = ", ".join(case.trust) or "nothing"
        return f"{lines[:400]}{more}, {case.triple}, {case.passes or 'no passes'}, trusting {trust}"

    def avoid(self, case: StampCase) -> None:
        pass  # what is found hardly ever lies at the option

    def _read(self, case: StampCase, modules: list[Any]) -> str:
        how = "refused"
        with contextlib.suppress(OptctxError):
            _check(modules)
        with contextlib.suppress(OptctxError):
            trusted = OptionContext.from_module(modules[0], process_wide="exclusive", trust=case.trust)
            with trusted:
                pass
        with contextlib.suppress(OptctxError):
            context = OptionContext.from_module(modules[0])
            with context:
                how = _compiled(case, modules[0])
        return how


def _check(modules: list[Any]) -> None:
    """What `optctx check-link` does with modules that it has read."""
    report = optctx.check_link(modules)
    with contextlib.redirect_stdout(io.StringIO()):
        for form in ("json", "table"):
            check_link_command.print_report(report, form)
    str(report)
    optctx.check_link(modules, on_mismatch="error")


def _compiled(case: StampCase, module: Any) -> str:
    target = binding.Target.from_triple(module.triple or binding.get_process_triple())
    try:
        machine = target.create_target_machine(opt=case.opt_level)
        if case.passes:
            optctx.run_passes(module, case.passes, target_machine=machine)
        optctx.emit_assembly(module, machine)
    except (RuntimeError, OptctxError):
        return "refused"
    return "compiled"
