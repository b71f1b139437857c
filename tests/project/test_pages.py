"""What the README and the guide show is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.pages import ROOT, Program, output_alone, outputs, programs
from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

README = ROOT / "README.md"
EVIDENCE = sorted((ROOT / "evidence").glob("*/README.md"))
PAGES = sorted([*(ROOT / "docs").glob("guide/*.md"), *filter(programs, EVIDENCE)])
# Of reads, bindings, attributes, what is set inside, or threads that wait inside a scope for others.
REDIRECTED = {ROOT / "evidence/census/README.md"} | {
    ROOT / f"docs/guide/{name}.md"
    for name in (
        "binding",
        "cache",
        "containment",
        "property-tests",
        "threads",
        "time",
        "tune",
        "tuning",
        "unread",
    )
}
# Of tools that compile a hundred times and more: each takes ten seconds.
LONG = {ROOT / f"docs/guide/{name}.md" for name in ("property-tests", "tune")}
LONG |= {ROOT / "evidence/census/README.md"}


def marks(text: str, redirected: bool) -> list[pytest.MarkDecorator]:
    numba = "import numba" in text
    found = [pytest.mark.redirected] if redirected or numba else []
    if numba and FREE_THREADED:
        found.append(pytest.mark.skip(reason=NEEDS_NUMBA))
    return found


def guide(page: Path) -> object:
    found = marks(page.read_text("utf-8"), page in REDIRECTED)
    return pytest.param(
        page,
        id=page.parent.name if page.stem == "README" else page.stem,
        marks=[*found, *[pytest.mark.long] * (page in LONG)],
    )


def alone(number: int, program: Program) -> object:
    return pytest.param(program, id=str(number), marks=marks(program.text, False))


@pytest.mark.parametrize("page", [guide(page) for page in PAGES])
def test_every_program_of_the_guide_prints_what_stands_beside_it(page: Path, tmp_path: Path) -> None:
    given = programs(page)
    assert given
    assert outputs(page, tmp_path) == [program.output or "" for program in given]


@pytest.mark.parametrize("program", [alone(*each) for each in enumerate(programs(README))])
def test_every_program_of_the_readme_prints_what_stands_beside_it(program: Program, tmp_path: Path) -> None:
    assert output_alone(program, tmp_path) == program.output


def test_the_values_of_the_first_program_matter() -> None:
    output = programs(README)[0].output
    assert output is not None
    assert len({line.split(": ")[1] for line in output.splitlines()}) == 4


@pytest.mark.parametrize("page", [README, ROOT / "docs/limits.md"], ids=lambda page: page.stem)
def test_the_number_of_refused_options_is_the_one_on_the_page(page: Path) -> None:
    from optctx import registry
    from optctx.engine.attach import attach

    refused = sum(option.scope == "process" for option in registry().values())
    refused -= not attach().intercepts  # `debug`
    assert f"{refused} of {len(registry()):,} option names cannot" in page.read_text("utf-8")


PROSE = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("design/*.md"),
        *ROOT.glob("design/upstream/*.md"),
        *(ROOT / "docs").glob("*.md"),
        *PAGES,
        *EVIDENCE,
    ]
)


def test_every_link_to_a_file_leads_to_one() -> None:
    links = [
        (page, link)
        for page in PROSE
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", page.read_text("utf-8"))
    ]
    assert len(links) > len(PROSE)
    assert [(str(page), link) for page, link in links if not (page.parent / link).exists()] == []
