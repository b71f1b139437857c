"""The pages that answer upstream's questions: their form, and their commands, which `make answers` runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from evidence.answers.__main__ import EXCEPTED, MORE, more_arguments
from evidence.answers.commands import PAGES, ROOT, Command, CommandError, check, commands
from tests.support.rows import rows

FOLDER = ROOT / "design" / "upstream"
# What the questions lean on, and the proposal that leans on the answers.
OTHERS = {"README.md", "census.md", "strategies.md", "rfc.md"}
QUESTIONS = [page for page in PAGES if page.name not in OTHERS]
COMMANDS = commands()
MADE = {file for command in COMMANDS for file in command.writes}
HEADINGS = [
    "Question",
    "Figure",
    "Repeat it with",
    "What it means for the three designs",
    "What remains unknown",
]


DESIGNS = ("A table by id", "Structs of libraries", "A thread-local pointer")


def is_answered(page: Path) -> bool:
    """Whether it has the headings, says something of each design, and has the command of its figure."""
    text = page.read_text("utf-8")
    found = re.findall(r"^## (.*)$", text, re.MULTILINE)[: len(HEADINGS)]
    meaning = text.partition(f"## {HEADINGS[3]}")[2].partition("## ")[0]
    said = all(f"*{design}*" in meaning for design in DESIGNS)
    return found == HEADINGS and said and commands([page]) != []


def test_each_question_is_answered_in_the_same_form() -> None:
    assert [page.name for page in QUESTIONS if not is_answered(page)] == []


def test_the_index_leads_to_every_page() -> None:
    index = (FOLDER / "README.md").read_text("utf-8")
    assert [page.name for page in PAGES if f"({page.name}" not in index and page.name != "README.md"] == []
    rows = [line for line in index.splitlines() if line.startswith("| ") and "?" in line.split("|")[1]]
    assert len(rows) == len(QUESTIONS)


def refused(given: Iterable[Command]) -> list[str]:
    found = []
    for command in given:
        try:
            check(command, MADE)
        except CommandError as error:
            found.append(f"{command.page}: {command.text}: {error}")
    return found


def test_every_command_of_the_pages_is_one_that_its_program_takes_and_made_small_as_well() -> None:
    small = [
        Command(command.page, f"{command.text.split(' > ')[0]} {more}")
        for command in COMMANDS
        if (more := more_arguments(command))
    ]
    assert small
    assert refused([*COMMANDS, *small]) == []


def test_what_is_excepted_or_made_small_is_on_the_pages() -> None:
    texts = [" ".join(command.words) for command in COMMANDS]
    assert [what for what in (*EXCEPTED, *MORE) if not any(text.startswith(what) for text in texts)] == []


@rows(
    ("text", "said"),
    [
        ("python -m evidence census --total-s", "total-s"),
        ("python -m evidence compare examples/kernel.ll --properties nestin", "nestin"),
        ("python -m evidence compare examples/colonel.ll", "no such file"),
        ("python -m evidence compare KERNEL", "no such file"),
        ("optctx shwo unroll-count", "shwo"),
        ("python -c 'print('", "never closed"),
        ("python -m evidence.conformance.designs --handed-on reeds.json", "no such file"),
        ("python -m evidence.conformance.experiments strangers", "strangers"),
        ("python -m tests.conformity", "no such program"),
        ("python -m evidence.benchmarks reeds", "reeds"),
        ("python -m evidence.benchmarks.reads --loops 3", "--loops"),
        ("make downstream", "downstream"),
        ("make upstream LIGHT=Transforms/LICM", "LIGHT"),
    ],
)
def test_a_command_with_a_mistake_is_refused(text: str, said: str) -> None:
    with pytest.raises(CommandError, match=re.escape(said)):
        check(Command("page.md", text), set())


def test_commands_are_found_in_blocks_and_in_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "See `optctx census\n--totals`, `opt` and `make x`.\n\n```\n$ python -m a.b > c.json  # x\nmake y\n"
        "no command\n```\nand `LLVM=1 optctx list`\n"
    )
    found = commands([page])
    assert [command.text for command in found] == [
        "optctx census --totals",
        "make x",
        "python -m a.b > c.json",
        "make y",
        "LLVM=1 optctx list",
    ]
    assert (found[2].words, found[2].writes) == (["python", "-m", "a.b"], {"c.json"})
    assert found[4].words == ["optctx", "list"]
