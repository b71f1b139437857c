"""Metadata of the name that stamps have: stamps, nearly stamps, and every other shape of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from tests.long.fuzz.modules import attribute_text
from tests.long.fuzz.words import Setting, accepted, garbage, hostile

_FIRST = 1000  # number of a node: the IR around it may have some of its own
_NUMBERS = 12  # of nodes that may be referred to
_LIST = "!optctx.options = !"
_ODD = (  # nodes of LLVM's own
    '!DIFile(filename: "a", directory: "b")', "distinct !DICompileUnit(language: 1, file: !1000)",
    "!DILocation(line: 1, scope: !1001)", "!DIExpression(1, 2)", '!DIBasicType(name: "x")',
    "!GenericDINode(tag: 1, operands: {!1000, !1001})", "!DISubrange(count: 3)",
)  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A line of metadata: operands in braces behind the head, or a head that is the whole line."""

    head: str
    operands: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.head}{{{', '.join(self.operands)}}}" if self.head.endswith("!") else self.head


def stamp_nodes(random: Random, triple: str) -> tuple[Node, ...]:
    """The metadata of one module."""
    dice = random.random()
    if dice < 0.45:
        count = random.choice((0, 1, 3, 10, 40))
        return _numbered([_stamp([accepted(random, triple) for _ in range(count)])])
    if dice < 0.6:
        return _numbered([_stamp([hostile(random) for _ in range(random.choice((1, 1, 3, 100)))])])
    if dice < 0.75:
        return _numbered([_stamp([accepted(random)]) for _ in range(random.choice((2, 3, 63, 64, 65, 300)))])
    return _any(random)


def _numbered(stamps: Iterable[tuple[str, ...]]) -> tuple[Node, ...]:
    """The list of these stamps, and each of them."""
    nodes = [Node(f"!{number} = !", stamp) for number, stamp in enumerate(stamps, _FIRST)]
    return (Node(_LIST, tuple(node.head.split()[0] for node in nodes)), *nodes)


def _any_node(random: Random) -> str:
    return f"!{_FIRST + random.randrange(_NUMBERS)}"


def _stamp(settings: list[Setting]) -> tuple[str, ...]:
    return ('!"1"', '!"m.c"', *(f"!{{{_text(each.name)}, {_text(each.text)}}}" for each in settings))


def _text(text: str | bytes | None) -> str:
    if text is None:
        return "null"
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    return f'!"{attribute_text(data)}"'


def _any(random: Random) -> tuple[Node, ...]:
    """Nodes that refer to each other and to themselves."""
    nodes = [Node(_LIST, tuple(_any_node(random) for _ in range(random.choice((0, 1, 2, 5)))))]
    for number in range(_FIRST, _FIRST + _NUMBERS):
        operands = [_operand(random) for _ in range(random.choice((0, 1, 2, 3, 4, 9)))]
        if random.random() < 0.7:
            operands[:0] = ['!"1"', '!"m"']
        distinct = "distinct " if random.random() < 0.2 else ""
        nodes.append(Node(f"!{number} = {distinct}!", tuple(operands)))
    if random.random() < 0.1:
        nodes.append(Node(_LIST, (_any_node(random),)))
    if random.random() < 0.3:
        at = random.randrange(_NUMBERS)
        nodes[1 + at] = Node(f"!{_FIRST + at} = {random.choice(_ODD)}")
    return tuple(nodes)


def _operand(random: Random) -> str:
    kind = random.randrange(9)
    if kind < 3:
        setting = accepted(random) if random.random() < 0.6 else hostile(random)
        return f"!{{{_text(setting.name)}, {_text(setting.text)}}}"
    if kind == 3:
        return _any_node(random)
    if kind == 4:
        return _text(garbage(random)[:5000])
    if kind == 5:
        return _text(accepted(random).name)
    if kind == 6:
        inner = ", ".join(_operand(random) for _ in range(random.randrange(3)))
        return f"!{{{inner}}}"
    return random.choice(("null", "i32 4", "!{}", '!""', "double 1.0", "ptr null", "!DIExpression()",
                          "i1 true", "<4 x i32> zeroinitializer", "i999 5", "ptr undef"))  # fmt: skip
