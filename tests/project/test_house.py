"""The house as design/README.md draws it: every import and every #include goes to a line above its own."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def picture(top: str) -> dict[str, int]:
    """Folder, or module beside the folders -> its line in the picture."""
    text = (ROOT / "design" / "README.md").read_text()
    drawn = re.search(rf"^{top}/ .*\n(?: +.*\n)*", text, re.MULTILINE)
    assert drawn is not None
    lines: dict[str, int] = {}
    for number, line in enumerate(drawn[0].splitlines()):
        names = re.split(r" {2,}", line.removeprefix(f"{top}/").strip())[0]
        lines.update(dict.fromkeys(names.split(), number))
    return lines


def imported(file: pathlib.Path) -> set[str]:
    """The folders and modules of optctx that a file imports, those in functions included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "optctx":
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("optctx."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found.update(name.name.split(".")[1] for name in node.names if name.name.startswith("optctx."))
    return found


def included(file: pathlib.Path) -> set[str]:
    """The folders of native/ that a file includes, and headers beside them."""
    return set(re.findall(r'^#include "(?!optctx/)([\w.]+)', file.read_text(), re.MULTILINE))


PYTHON = [path for path in (ROOT / "optctx").rglob("*.py") if path.parent.name != "__pycache__"]
NATIVE = [*(ROOT / "native").rglob("*.cpp"), *(ROOT / "native").rglob("*.hpp")]
# The narrow door, and modules that are not of this package's folders.
FREE = {"__init__", "__main__", "_native"}


@pytest.mark.parametrize("file", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(file: pathlib.Path) -> None:
    lines = picture("optctx")
    part = file.relative_to(ROOT / "optctx").parts
    own = part[0] if len(part) > 1 else file.stem
    if own in FREE:
        return
    for name in imported(file) - FREE - {own}:
        if name in lines:
            assert lines[name] < lines[own], f"{own} imports {name}, which is not drawn above it"
        else:
            assert own in ("sensitivity", "sweep"), f"{own} imports {name} through the narrow door"


@pytest.mark.parametrize("file", NATIVE, ids=lambda path: str(path.relative_to(ROOT)))
def test_includes_go_one_way(file: pathlib.Path) -> None:
    lines = picture("native")
    part = file.relative_to(ROOT / "native").parts
    if len(part) == 1:
        return  # the bindings stand below every folder
    for name in included(file) - {part[0]}:
        assert lines[name] < lines[part[0]], f"{part[0]} includes {name}, which is not drawn above it"


def test_every_folder_is_drawn() -> None:
    for top in ("optctx", "native"):
        folders = {path.name for path in (ROOT / top).iterdir() if path.is_dir()}
        assert folders - {"__pycache__", "include"} == {
            name for name in picture(top) if (ROOT / top / name).is_dir()
        }


PROCESSOR = re.compile(r"\bREG_\w|\bgregs\b|\bmodrm|\biced_x86\b|\bcapstone\b")
UNPROVEN = re.compile(r"\b(load_words|load_text|walk_tree|read_checked|walk_registry)\b")


@pytest.mark.parametrize("file", [*PYTHON, *NATIVE], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_processor_is_known_in_its_folder_only(file: pathlib.Path) -> None:
    if "x86_64" not in file.parts:
        assert not PROCESSOR.search(file.read_text())


@pytest.mark.parametrize("file", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_llvms_memory_is_read_in_the_image_folder_only(file: pathlib.Path) -> None:
    if file.parent.name != "image":
        assert not UNPROVEN.search(file.read_text())
