"""What the README, the guide and the examples show is what happens, and what the pages name is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from optctx import registry
from optctx.engine.attach import attach
from tests.project.pages import ROOT, Program, output_alone, outputs, programs
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


# The examples


def run_example(name: str) -> list[str]:
    file = ROOT / "examples" / name
    text = file.read_text().replace("__file__", repr(str(file)))
    return output_alone(Program("python", text, None), file.parent).splitlines()


def test_a_pool_of_threads_without_any_scope() -> None:
    lines = run_example("thread_pool.py")
    assert [line.split(":")[0] for line in lines] == [f"unroll-count={count}" for count in (1, 2, 4, 8)]
    assert len({line.split(": ")[1] for line in lines}) == 4


def test_host_and_devices_in_one_process_give_what_separate_processes_give() -> None:
    lines = run_example("host_and_device.py")
    assert [line.split(":")[0] for line in lines] == ["host", "nvidia", "amd"]
    assert all(line.endswith("lines, as in a process of its own") for line in lines)


def test_what_optimises_after_linking_runs_with_the_options_of_the_compile_step() -> None:
    assert run_example("lto.py") == [
        "the linked module says: -force-vector-interleave=4",
        "options kept: 10 vector multiplications, as in a process with -force-vector-interleave=4",
        "options dropped: 2 vector multiplications, as in a process with no options",
    ]


def test_targets_of_tvm_on_threads_at_once() -> None:
    *lines, refused = run_example("tvm_target.py")
    assert len({line.split(": ")[-1] for line in lines}) == len(lines) == 3
    assert refused.startswith("'-unroll-count:string=4': LLVM registered 'unroll-count' as uint")


@pytest.mark.long
def test_a_search_on_threads_finds_what_one_after_the_other_finds() -> None:
    pytest.importorskip("optuna", reason="needs Optuna: pip install 'optctx[tune]'")
    ways, found = zip(*(line.split(" s, ") for line in run_example("autotune_threads.py")), strict=True)
    assert [way.split(":")[0] for way in ways] == ["scope", "lock"]
    assert len(set(found)) == 1
