"""Metadata of the name that stamps have: stamps, nearly stamps, and every other shape of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.long.fuzz.module_case import attribute_text
from tests.long.fuzz.words import Setting, accepted, garbage, hostile

__all__ = ["fewer", "stamp_lines"]

_FIRST = 1000  # number of a node: the IR around it may have some of its own
_NUMBERS = 12  # of nodes that may be referred to
_MANY = (64, 65, 300, 5000, 70_000, 120_000)


def stamp_lines(random: Random, triple: str) -> tuple[str, ...]:
    """The lines of one module."""
    dice = random.random()
    if dice < 0.45:
        return _lines([_stamp([accepted(random, triple) for _ in range(random.choice((0, 1, 3, 10, 40)))])])
    if dice < 0.6:
        return _lines([_stamp([hostile(random) for _ in range(random.choice((1, 1, 3, 100)))])])
    if dice < 0.7:
        return _lines([_stamp([accepted(random)]) for _ in range(random.choice((2, 3, 63, 64, 65, 300)))])
    if dice < 0.8:
        return _huge(random)
    return _any(random)


def fewer(lines: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The lines with one less, or with one that is shorter."""
    for at in range(len(lines) - 1, -1, -1):
        yield lines[:at] + lines[at + 1 :]
    for at, line in enumerate(lines):
        head, brace, body = line.partition("!{")
        operands = _operands(body.removesuffix("}"))
        size = len(operands) // 2
        shorter = [operands[:size], operands[size:]] if size > 1 else []
        shorter += [operands[:place] + operands[place + 1 :] for place in range(min(len(operands), 40))]
        for less in shorter:
            yield (*lines[:at], f"{head}{brace}{', '.join(less)}}}", *lines[at + 1 :])


def _lines(stamps: list[str]) -> tuple[str, ...]:
    numbers = ", ".join(f"!{_FIRST + at}" for at in range(len(stamps)))
    nodes = (f"!{_FIRST + at} = {stamp}" for at, stamp in enumerate(stamps))
    return (f"!optctx.options = !{{{numbers}}}", *nodes)


def _any_node(random: Random) -> str:
    return f"!{_FIRST + random.randrange(_NUMBERS)}"


def _stamp(settings: list[Setting], producer: str = "m.c") -> str:
    nodes = (f"!{{{_text(each.name)}, {_text(each.text)}}}" for each in settings)
    return f"!{{{', '.join((_text('1'), _text(producer), *nodes))}}}"


def _text(text: str | bytes | None) -> str:
    if text is None:
        return "null"
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    return f'!"{attribute_text(data)}"'


def _huge(random: Random) -> tuple[str, ...]:
    """Too many of something."""
    many, kind = random.choice(_MANY), random.randrange(7)
    option = '!{!"unroll-count", !"3"}'
    if kind == 0:  # the same stamp
        return (f"!optctx.options = !{{{', '.join(['!1000'] * many)}}}", f'!1000 = !{{!"1", !"m", {option}}}')
    if kind == 1:  # stamps
        return _lines([f'!{{!"1", !"m{number}", {option}}}' for number in range(many // 10)])
    if kind == 2:  # options
        options = (f'!{{!"x{number}", !"3"}}' for number in range(many))
        return _lines([f'!{{!"1", !"m", {", ".join(options)}}}'])
    if kind == 3:  # occurrences
        texts = ", ".join(['!"f:cold"'] * many)
        return _lines([f'!{{!"1", !"m", !{{!"force-attribute", {texts}}}}}'])
    if kind == 4:  # bytes
        return _lines([_stamp([Setting(random.choice(("unroll-count", "debug-only", "x")), "9" * many)])])
    if kind == 5:  # of a name
        return _lines([_stamp([Setting("n" * many, "3")], "m" * many)])
    return _lines(["!{" * min(many, 300) + "}" * min(many, 300)])  # levels


def _any(random: Random) -> tuple[str, ...]:
    """Nodes that refer to each other and to themselves."""
    roots = ", ".join(_any_node(random) for _ in range(random.choice((0, 1, 2, 5))))
    lines = [f"!optctx.options = !{{{roots}}}"]
    for number in range(_NUMBERS):
        operands = [_operand(random) for _ in range(random.choice((0, 1, 2, 3, 4, 9)))]
        if random.random() < 0.7:
            operands[:0] = ['!"1"', _text("m")]
        distinct = "distinct " if random.random() < 0.2 else ""
        lines.append(f"!{_FIRST + number} = {distinct}!{{{', '.join(operands)}}}")
    if random.random() < 0.1:
        lines.append(f"!optctx.options = !{{{_any_node(random)}}}")
    if random.random() < 0.3:
        at = random.randrange(_NUMBERS)
        lines[1 + at] = f"!{_FIRST + at} = {_odd(random)}"
    return tuple(lines)


def _odd(random: Random) -> str:
    return random.choice(
        ('!DIFile(filename: "a", directory: "b")', "distinct !DICompileUnit(language: 1, file: !1000)",
         "!DILocation(line: 1, scope: !1001)", "!DIExpression(1, 2)", '!DIBasicType(name: "x")',
         '!GenericDINode(tag: 1, operands: {!1000, !1001})', "!DISubrange(count: 3)")
    )  # fmt: skip


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


def _operands(body: str) -> list[str]:
    """What is between commas that are in no string and in no node."""
    found, depth, quoted, begin = [], 0, False, 0
    for at, letter in enumerate(body):
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                found.append(body[begin:at].strip())
                begin = at + 1
    return [*found, body[begin:].strip()] if body else []
