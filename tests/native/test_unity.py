"""The build compiles the files of folders as one: what each keeps to itself has a name of its own there.

Two functions of one name would be overloads, and a call might reach the one of another file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "native"
COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
OUTER = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# A declaration starts in the first column. The name is what stands before its parameters, bounds or value.
DECLARED = re.compile(
    r"(?:struct|class|enum(?: class)?) (\w+)|using (\w+) =|\w[^={;(]*?[ *&](\w+)(?:\(|\[| =|\{|;)"
)
UNITS = re.findall(
    r'elseif\(group MATCHES "\^\((.*)\)\$"\)\s+set\(group (\w+)\)',
    (NATIVE.parent / "CMakeLists.txt").read_text(),
)
NOT_A_NAME = ("using namespace", "namespace", "template", "static_assert", "return")


def unit_of(file: Path) -> str:
    """The translation unit in which a file is compiled, as CMakeLists.txt has them."""
    folder = file.relative_to(NATIVE).parts[0]
    if folder == "python":
        return "bindings" if file.name.startswith("bind_") else folder
    return next(unit for folders, unit in UNITS if folder in folders.split("|"))


def own_names(text: str) -> set[tuple[str, str]]:
    """(namespace, name) of what is in unnamed namespaces."""
    found = set()
    for unnamed in UNNAMED.finditer(text):
        outer = [each[1] for each in OUTER.finditer(text, 0, unnamed.start())]
        for line in COMMENTS_AND_TEXTS.sub("", unnamed[1]).splitlines():
            match = DECLARED.match(line)
            if match is not None and not line.startswith(NOT_A_NAME):
                found.add((outer[-1] if outer else "", match[match.lastindex or 0]))
    return found


def test_names_that_files_keep_to_themselves_differ_within_a_unit() -> None:
    places: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for file in NATIVE.rglob("*.cpp"):
        for namespace, name in own_names(file.read_text()):
            places[unit_of(file), namespace, name].append(file.name)
    assert len(places) > 500  # it finds them
    shared = {key: files for key, files in places.items() if len(files) > 1}
    assert not shared, f"rename one of each: {shared}"
