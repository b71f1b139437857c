"""The pages that answer upstream's questions have the same form, and the index leads to each."""

from __future__ import annotations

import re
from pathlib import Path

from tests.project.pages import ROOT

FOLDER = ROOT / "design" / "upstream"
PAGES = sorted(FOLDER.glob("*.md"))
# What the questions lean on, and the proposal that leans on the answers.
OTHERS = {"README.md", "census.md", "strategies.md", "rfc.md"}
QUESTIONS = [page for page in PAGES if page.name not in OTHERS]
HEADINGS = [
    "Question",
    "Figure",
    "Repeat it with",
    "What it means for the three designs",
    "What remains unknown",
]
DESIGNS = ("A table by id", "Structs of libraries", "A thread-local pointer")


def is_answered(page: Path) -> bool:
    """Whether it has the headings, speaks of each design, and says how or where its figure was made."""
    text = page.read_text("utf-8")
    found = re.findall(r"^## (.*)$", text, re.MULTILINE)[: len(HEADINGS)]
    parts = dict(zip(found, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:], strict=False))
    said = all(f"*{design}*" in parts[HEADINGS[3]] for design in DESIGNS)
    repeated = re.search(r"\b(?:python -m|optctx|make) |commit [0-9a-f]{8}", parts[HEADINGS[2]])
    return found == HEADINGS and said and repeated is not None


def test_each_question_is_answered_in_the_same_form() -> None:
    assert [page.name for page in QUESTIONS if not is_answered(page)] == []


def test_the_index_leads_to_every_page() -> None:
    index = (FOLDER / "README.md").read_text("utf-8")
    assert [page.name for page in PAGES if f"({page.name}" not in index and page.name != "README.md"] == []
    rows = [line for line in index.splitlines() if line.startswith("| ") and "?" in line.split("|")[1]]
    assert len(rows) == len(QUESTIONS)
