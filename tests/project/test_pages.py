"""What the README and the guide show is what happens, and what the pages name is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from optctx import registry
from optctx.engine.attach import attach
from tests.project.pages import ROOT, output_alone, outputs, programs
from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

README = ROOT / "README.md"
EVIDENCE = sorted((ROOT / "evidence").glob("*/README.md"))
PAGES = sorted([*(ROOT / "docs").glob("guide/*.md"), *filter(programs, EVIDENCE)])
# Of tools that read all of LLVM's code, compile a hundred times, or measure: each takes some seconds.
LONG = {"evidence/census", "evidence/strategies", "options", "property-tests", "sweep", "time", "tune"}


def case(page: Path) -> Any:
    name = page.stem if page.stem != "README" else str(page.parent.relative_to(ROOT))
    marks: list[pytest.MarkDecorator] = []
    if name in LONG:
        marks = [pytest.mark.long]
    elif "import numba" in page.read_text("utf-8"):
        marks = [pytest.mark.skipif(FREE_THREADED, reason=NEEDS_NUMBA)]
    elif name == "threads":
        reason = "needs a Python with the GIL, whose threads begin outside"
        marks = [pytest.mark.skipif(FREE_THREADED, reason=reason)]
    return pytest.param(page, id=name, marks=marks)


@pytest.mark.parametrize("page", [case(page) for page in PAGES])
def test_every_program_of_the_guide_prints_what_stands_beside_it(page: Path, tmp_path: Path) -> None:
    given = programs(page)
    assert given
    assert outputs(page, tmp_path) == [program.output or "" for program in given]


def test_every_program_of_the_readme_prints_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    given = programs(README)
    assert len(given) > 1
    assert [output_alone(program, tmp_path) for program in given] == [program.output for program in given]


def test_the_number_of_refused_options_is_the_one_on_the_pages() -> None:
    refused = sum(option.scope == "process" for option in registry().values())
    refused -= not attach().intercepts  # `debug`
    for page in (README, ROOT / "docs/limits.md"):
        assert f"{refused} of {len(registry()):,} option names cannot" in page.read_text("utf-8"), page


def test_every_link_to_a_file_leads_to_one() -> None:
    places = (
        "*.md",
        "design/*.md",
        "design/upstream/*.md",
        "docs/*.md",
        "docs/guide/*.md",
        "evidence/*/*.md",
    )
    prose = [page for each in places for page in ROOT.glob(each)]
    links = [
        (page, link)
        for page in prose
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", page.read_text("utf-8"))
    ]
    assert len(links) > len(prose)
    assert [(str(page), link) for page, link in links if not (page.parent / link).exists()] == []


def test_every_file_has_the_name_that_the_first_day_sends_to() -> None:
    page = (ROOT / "design" / "first-day.md").read_text()
    steps = re.findall(r"((?:optctx|native)/[\w/]+\.[ch]?pp|(?:optctx|native)/[\w/]+\.py) +([\w:]+)", page)
    answers = re.findall(r"^\| [^|]+ \| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(steps) >= 19
    assert len(answers) >= 10
    wrong = []
    for file, name in [*steps, *answers]:
        text = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
        defined = rf"^(def|    def|class) {name}\b" if file.endswith(".py") else rf"\b{re.escape(name)}\b"
        if not re.search(defined, text, re.MULTILINE):
            wrong.append(f"{file} has no {name}")
    named = set(re.findall(r"\b(?:optctx|native)/[\w/]+\.\w+", page))
    wrong += [f"{each} is no file" for each in sorted(named) if not (ROOT / each).is_file()]
    assert not wrong, "\n".join(wrong)
