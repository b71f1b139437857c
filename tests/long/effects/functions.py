"""Modules in which every function stands twice, and what became of each function in what LLVM gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tests.long.fuzz.bases import attributed

_DEFINED = re.compile(r"^define .*?^}\n", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"@([\w.]+)\(")
_SUFFIXES = ("_one", "_two")
_OWN = re.compile(r' "optctx"(="[^"]*")?')
_GROUP = re.compile(r"^attributes (#\d+) = \{(.*)\}$", re.MULTILINE)
_NODE = re.compile(r"^(![0-9]+) = (.*)$", re.MULTILINE)
# Numbered over the whole module: where one function has a label more, those of the next one are others.
_LABEL = re.compile(
    r"(?:(\.L|L\.\.|L|\$|\.)"
    r"(C|tmp|loh|post_getpc|pcrel_hi|func_begin|func_end|exception|cst_\w+|ttbase\w*)"
    r"|(callseq |prototype_))\d+"
)
_BEGINS = re.compile(r"[._]?(\w+(?:_one|_two)):|\..*\b(?:func|entry)\b.* (\w+(?:_one|_two))\(")
_ENDS = re.compile(
    r"\s*(\.Lfunc_end|\.size\b|\.cfi_endproc|\.end_function|end_function|\.seh_endproc|\.tc\b|})"
)


@cache
def doubled(text: str) -> str:
    """The module with each function as NAME_one, which has an empty attribute "optctx", and NAME_two."""
    names = [found[1] for body in _DEFINED.findall(text) if (found := _NAME.search(body))]
    any_of = re.compile(rf"@({'|'.join(map(re.escape, names))})(?![\w.])")

    def twice(found: re.Match[str]) -> str:
        one, two = (any_of.sub(rf"@\1{suffix}", found[0]) for suffix in _SUFFIXES)
        return attributed(one, '"optctx"=""') + two

    return any_of.sub(rf"@\1{_SUFFIXES[0]}", _DEFINED.sub(twice, text)) if names else text


def with_attribute(text: str, attribute: str) -> str:
    """A doubled module with the attribute on the first of each two functions."""
    return text.replace('"optctx"=""', f'"optctx"="{attribute}"')


def functions_of(output: str) -> dict[str, str]:
    """Name -> text, without what other functions of the module change in it."""
    return dict(_of_ir(output) if "\ndefine " in output else _of_assembly(output))


def _of_ir(output: str) -> Iterator[tuple[str, str]]:
    groups = dict(_GROUP.findall(output))
    nodes = dict(_NODE.findall(output))
    for body in _DEFINED.findall(output):
        name = _NAME.search(body)
        if name and name[1].endswith(_SUFFIXES):
            text = re.sub(r"#\d+", lambda found: groups.get(found[0], ""), body)
            yield name[1], _OWN.sub("", _with_nodes(text, nodes))


def _with_nodes(text: str, nodes: dict[str, str]) -> str:
    """The text with its metadata, numbered as they come."""
    seen: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"!n{len(seen)}")

    lines, done = [re.sub(r"!\d+", number, text)], 0
    while done < len(seen):
        node = list(seen)[done]
        lines.append(f"{seen[node]} = {re.sub(r'![0-9]+', number, nodes.get(node, ''))}")
        done += 1
    return "\n".join(lines)


def _of_assembly(output: str) -> Iterator[tuple[str, str]]:
    name, lines = "", list[str]()
    for line in output.splitlines():
        begins = _BEGINS.match(line)
        if begins:
            name, lines = begins[1] or begins[2], []
        elif name and _ENDS.match(line):
            yield name, "\n".join(lines)
            name = ""
        elif name:
            lines.append(_LABEL.sub(r"\1\2\3", line))
    if name:
        yield name, "\n".join(lines)
