"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from command_pages import pages
from sphinx.application import Sphinx

HERE = Path(__file__).parent

project = "optctx"
author = "The optctx authors"
copyright = "The optctx authors, Apache-2.0 WITH LLVM-exception"
release = version = version_of("optctx")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
default_role = "code"  # of the docstrings: `name`
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "optctx"
html_copy_source = False
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}

# The glossary, the security policy and the design notes stand elsewhere in the repository. They become pages
# here. Their links lead to pages where there are any, and become plain text elsewhere.
PAGES = {
    "GLOSSARY.md": "glossary.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/cpp/README.md": "cpp.md",
}
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def copy_pages() -> None:
    root = HERE.parent
    shutil.rmtree(HERE / "design", ignore_errors=True)
    (HERE / "design").mkdir()
    for source in sorted((root / "design").glob("*.md")):
        name = "index.md" if source.name == "README.md" else source.name
        write(HERE / "design" / name, source)
    for source_name, name in PAGES.items():
        write(HERE / name, root / source_name)


def write_command_pages() -> None:
    folder = HERE / "reference" / "commands"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in pages().items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def write(page: Path, source: Path) -> None:
    text = LINK.sub(
        lambda link: relinked(link, source.parent, page.parent), source.read_text(encoding="utf-8")
    )
    if page.name == "index.md":
        text += "\n```{toctree}\n:glob:\n:hidden:\n\n*\n```\n"
    page.write_text(text, encoding="utf-8")


def relinked(link: re.Match[str], old: Path, new: Path) -> str:
    """A link of a file in the folder `old` of the repository, as a page in the folder `new` has it."""
    label, target, anchor = link.groups()
    found = (old / target).resolve()
    page = page_of(found)
    if page is not None:
        return f"[{label}]({os.path.relpath(page, new)}{anchor or ''})"
    if not found.exists():
        raise FileNotFoundError(f"{old}: the link {link.group()} leads nowhere")
    return label


def page_of(file: Path) -> Path | None:
    """The page that shows a file of the repository."""
    path = file.relative_to(HERE.parent)
    if path.parts[0] == "docs":
        return file
    if path.parent == Path("design") and path.suffix == ".md":
        return HERE / "design" / ("index.md" if path.name == "README.md" else path.name)
    return HERE / PAGES[str(path)] if str(path) in PAGES else None


def setup(app: Sphinx) -> None:
    def read(app: Sphinx, name: str, content: list[str]) -> None:
        page = Path(app.srcdir) / f"{name}.md"
        if page.name not in PAGES.values() and page.parent.name not in ("design", "commands"):
            content[0] = LINK.sub(lambda link: relinked(link, page.parent, page.parent), content[0])

    app.connect("source-read", read)


copy_pages()
write_command_pages()
