"""Modules with hostile stamps, to what reads stamps, and through LLVM under what they set.

Their metadata has the name that stamps have: stamps, nearly stamps, and every other shape of nodes. What is
too large is refused (tests/optctx/values/test_trust.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from llvmlite import binding

import optctx
from optctx import OptctxError, OptionContext, info
from optctx.values import CLASSES
from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import Target
from tests.long.fuzz.modules import TRIPLES, Part, attribute_text, compiled, files, prepare
from tests.long.fuzz.words import Setting, accepted, garbage, hostile

_MEMORY = 1 << 30
_FIRST = 1000  # number of a node: the IR around it may have some of its own
_NUMBERS = 12  # of nodes that may be referred to
_ODD = (  # nodes of LLVM's own
    '!DIFile(filename: "a", directory: "b")', "distinct !DICompileUnit(language: 1, file: !1000)",
    "!DILocation(line: 1, scope: !1001)", "!DIExpression(1, 2)", '!DIBasicType(name: "x")',
    "!GenericDINode(tag: 1, operands: {!1000, !1001})", "!DISubrange(count: 3)",
)  # fmt: skip


@dataclass(frozen=True)
class StampCase:
    """Modules of nothing but metadata, except for the first one; linked, maybe, and read."""

    body: Part
    metadata: tuple[tuple[str, ...], ...]  # lines of each module
    triple: str
    passes: str = ""
    linked: bool = False
    trust: tuple[str, ...] = ()
    opt_level: int = 2
    read: bool = True  # else LLVM parses and compiles it without optctx

    def texts(self) -> list[str]:
        """The IR of each module."""
        bodies = [self.body.text({}), *[""] * (len(self.metadata) - 1)]
        return ["\n".join((body, *lines)) for body, lines in zip(bodies, self.metadata, strict=True)]


class StampsTarget(Target[StampCase]):
    name = "stamps"

    def __init__(self, seconds: float = 20) -> None:
        self.limits = Limits(seconds, _MEMORY)

    def prepare(self) -> None:
        prepare()
        optctx.attach()
        body = Part("counted.ll")
        for name in ("unroll-count", "stats", "é\u3042\u0301\U0001f600"):
            for text in ("0", "2", None):
                lines = _listed([_stamp([Setting(name, text)])])
                self.perform(StampCase(body, (lines,), "", "default<O1>"))
                self.perform(StampCase(body, (lines, lines), "", "default<O1>", trust=CLASSES))
        for triple in TRIPLES:
            self.perform(StampCase(body, ((),), triple, "default<O3>", read=False))

    def make(self, random: Random) -> StampCase:
        triple = random.choice(TRIPLES)
        return StampCase(
            random.choice(files()),
            tuple(_metadata(random) for _ in range(random.choice((1, 1, 2, 3, 8)))),
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


# Metadata


def _metadata(random: Random) -> tuple[str, ...]:
    """The lines of one module."""
    dice = random.random()
    if dice < 0.45:
        return _listed([_stamp([accepted(random) for _ in range(random.choice((0, 1, 3, 10, 40)))])])
    if dice < 0.6:
        return _listed([_stamp([hostile(random) for _ in range(random.choice((1, 1, 3, 100)))])])
    if dice < 0.75:
        return _listed([_stamp([accepted(random)]) for _ in range(random.choice((2, 3, 63, 64, 65, 300)))])
    lines = [_list(_any_node(random) for _ in range(random.choice((0, 1, 2, 5))))]
    for number in range(_FIRST, _FIRST + _NUMBERS):  # which refer to each other and to themselves
        operands = [_operand(random) for _ in range(random.choice((0, 1, 2, 3, 4, 9)))]
        head = ['!"1"', '!"m"'] if random.random() < 0.7 else []
        distinct = "distinct " if random.random() < 0.2 else ""
        odd = random.random() < 0.03
        lines.append(f"!{number} = {random.choice(_ODD) if odd else distinct + _node(head + operands)}")
    return tuple(lines)


def _listed(stamps: Iterable[list[str]]) -> tuple[str, ...]:
    """The list of these stamps, and each of them."""
    nodes = [f"!{number} = {_node(stamp)}" for number, stamp in enumerate(stamps, _FIRST)]
    return (_list(node.split()[0] for node in nodes), *nodes)


def _list(names: Iterable[str]) -> str:
    return f"!optctx.options = {_node(names)}"


def _node(operands: Iterable[str]) -> str:
    return f"!{{{', '.join(operands)}}}"


def _any_node(random: Random) -> str:
    return f"!{_FIRST + random.randrange(_NUMBERS)}"


def _stamp(settings: list[Setting]) -> list[str]:
    return ['!"1"', '!"m.c"', *(_node([_text(each.name), _text(each.text)]) for each in settings)]


def _text(text: str | bytes | None) -> str:
    if text is None:
        return "null"
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    return f'!"{attribute_text(data)}"'


def _operand(random: Random) -> str:
    kind = random.randrange(9)
    if kind < 3:
        setting = accepted(random) if random.random() < 0.6 else hostile(random)
        return _node([_text(setting.name), _text(setting.text)])
    if kind == 3:
        return _any_node(random)
    if kind == 4:
        return _text(garbage(random)[:5000])
    if kind == 5:
        return _text(accepted(random).name)
    if kind == 6:
        return _node(_operand(random) for _ in range(random.randrange(3)))
    return random.choice(("null", "i32 4", "!{}", '!""', "double 1.0", "ptr null", "!DIExpression()",
                          "i1 true", "<4 x i32> zeroinitializer", "i999 5", "ptr undef"))  # fmt: skip
