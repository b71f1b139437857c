"""Reports of studies: whole for every study, and no text of a study is more than a text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html.parser
import json
import pathlib
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from optctx.errors import OptctxError
from optctx.lab.report import Source, check_report
from optctx.lab.report.figures import figures_of
from optctx.lab.report.importance import importances
from optctx.lab.report.page import as_page
from optctx.lab.report.texts import figure_text
from optctx.lab.trials import Trial
from optctx.lab.tuning.results import Study
from tests.support.rows import rows
from tests.support.tuning_studies import COMPILE, HOSTILE, SIZE, SPEED, TIME, all_lost, hostile, study, times

SOURCE = Source("kernel.ll")
FIGURES = ["history", "importance", "front", "slices", "parallel"]

STUDIES = {
    "no trials": study(0),
    "one trial": study(1, lost=0.0),
    "all failed": all_lost(5),
    "two objectives": study(40, (SIZE, TIME)),
    "three objectives": study(40, (SIZE, TIME, SPEED), more=0),
    "equal figures": replace(
        study(0), trials=tuple(replace(t, objectives={"size": 7.0}) for t in study(40, lost=0.0).trials)
    ),
    "hostile texts": hostile(),
}


class Page(html.parser.HTMLParser):
    """What a browser finds in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()  # of attributes
        self.cells: list[list[str]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attributes}
        if tag == "tr":
            self.cells.append([])
        elif tag in ("td", "th"):
            self.cells[-1].append("")
        elif tag == "script":
            self.scripts.append("")
        elif tag == "meta" and ("http-equiv", "Content-Security-Policy") in attributes:
            self.policy = dict(attributes)["content"] or ""

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["script"] and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.texts.append(data)
        if self.cells and self.tags[-1] in ("td", "th", "a", "code", "button"):
            self.cells[-1][-1] += data.rstrip("\n")


def unpacked(page: Page) -> dict[str, Any]:
    """The data of a page."""
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(page.scripts[0])))
    return found


def kinds(page: Page) -> list[str]:
    """The sections with figures."""
    return list(dict.fromkeys(name.partition("-")[0] for name in unpacked(page)["figures"]))


def texts_in(part: Any) -> Iterator[str]:
    """Every text of a figure but the ticks of parallel coordinates, which are plain text there."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for name, value in part.items():
            yield from () if name == "ticktext" and "label" in part else texts_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from texts_in(value)


@rows("kind", STUDIES)
def test_every_study_has_a_page_that_plotly_takes(kind: str) -> None:
    from plotly.graph_objects import Figure

    found = STUDIES[kind]
    page = Page(as_page(found, SOURCE, "title"))
    for figure in unpacked(page)["figures"].values():
        Figure(figure)  # raises for what plotly.js does not know
    assert {*found.machine, *found.versions} <= {
        cells[0] for cells in page.cells if cells
    } or "hostile" in kind
    rows = [cells for cells in page.cells if cells[:1] and (cells[0] == "base" or cells[0].isdigit())]
    assert len(rows) >= len(found.trials) + 1
    assert ("There is nothing to draw." in page.texts) == (kind in ("no trials", "all failed"))
    expected = {
        "no trials": [],
        "one trial": ["history", "slices", "parallel"],
        "all failed": ["history"],
        "equal figures": ["history", "slices", "parallel"],
    }
    without = "importance" if kind == "hostile texts" else ""  # its figures are as good as random
    assert [name for name in kinds(page) if name != without] == expected.get(
        kind, [name for name in FIGURES if name != without]
    )


def test_no_text_of_a_study_is_more_than_a_text() -> None:
    source = Source(f"{HOSTILE}.c", triple=HOSTILE, clang=HOSTILE)
    page = Page(as_page(hostile(), source, HOSTILE))
    plain = Page(as_page(study(40, (SIZE, TIME)), Source("kernel.c"), "title"))
    assert set(page.tags) <= {*plain.tags, "br", "code"}
    assert page.tags.count("script") == plain.tags.count("script") == 3
    assert page.names <= plain.names | {"colspan"}
    # Shown as they are, and what cannot be seen as escapes.
    visible = HOSTILE.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b").replace("\udcff", "\\udcff")
    assert sum(text.count(visible) for text in page.texts) > 40
    # plotly.js takes most texts as markup, and what stands between dollar signs as a formula.
    data = unpacked(page)
    ticks = [axis.pop("ticktext", []) for axis in data["figures"]["parallel-0"]["data"][0]["dimensions"]]
    assert any("<script>" in text for texts in ticks for text in texts)
    labels = [
        text.replace("<br>", "").replace("<b>", "").replace("</b>", "") for text in data["labels"].values()
    ]
    texts = [*texts_in(data["figures"]), *labels]
    assert sum("&lt;script&gt;" in text for text in texts) > 60
    assert not [text for text in texts if re.search(r"[<>$]|&(?!(amp|lt|gt|#36);)", text)]


def test_a_page_allows_its_own_scripts_and_no_network() -> None:
    text = as_page(study(20), SOURCE, "title")
    page = Page(text)
    rules = dict(rule.split(" ", 1) for rule in page.policy.split("; "))
    assert rules["default-src"] == "'none'"
    plotly = gzip.decompress(base64.b64decode(page.scripts[1]))
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(each).digest()).decode()}'"
        for each in (plotly, page.scripts[2].encode())
    ]
    assert rules["script-src"].split() == digests  # no eval
    assert {"src", "srcset", "integrity", "onclick"}.isdisjoint(page.names)
    assert "link" not in page.tags
    assert as_page(study(20), SOURCE, "title") == text
    assert len(text) < 2_100_000


@pytest.mark.long
def test_five_thousand_trials_fit_into_four_megabytes() -> None:
    text = as_page(study(5000, (SIZE, TIME), more=9), SOURCE, "title")
    assert len(text.encode()) < 4_100_000
    assert len(re.findall(r"<tr[^>]* id=\"t\d+\">", text)) == 5000


def test_the_pointer_shows_options_and_a_wide_axis_is_logarithmic() -> None:
    trials = [
        replace(t, objectives={"size": 600.0 + 100 * n}) for n, t in enumerate(study(9, lost=0.0).trials)
    ]
    narrow = unpacked(Page(as_page(replace(study(0), trials=tuple(trials)), SOURCE, "t")))
    trials[0] = replace(trials[0], objectives={"size": 70_000.0})
    far = unpacked(Page(as_page(replace(study(0), trials=tuple(trials)), SOURCE, "t")))
    for data, kind in ((narrow, None), (far, "log")):
        assert data["figures"]["history-0"]["layout"]["yaxis"].get("type") == kind
        assert data["figures"]["slices-0"]["layout"]["yaxis"].get("type") == kind
    assert far["figures"]["slices-0"]["data"][0]["customdata"] == list(range(9))
    options = [f"{name}={text}" for name, text in trials[3].options.items()]
    assert far["labels"]["3"] == "<br>".join(["<b>trial 3</b>", *options, "size: 900"])


def test_the_table_has_what_trials_have() -> None:
    trial = Trial(
        7, {"unroll-count": "4"}, "default<O3>", "ok", {"time": 0.8}, attributes={"time": times(0.8)}
    )
    case = "wrong/trial 8/case.toml"
    error = "argument 1 differs"
    wrong = Trial(
        8, {"vector": "x"}, "default<O3>", "wrong result", {}, error=error, attributes={"reproduce": case}
    )
    found = replace(study(0, (TIME,)), trials=(trial, wrong))
    page = Page(as_page(found, SOURCE, "title"))
    cells = ["7", "ok", "4", "", "0.8 (0.776699 to 0.816), 960 ns a call", ""]
    assert cells in page.cells
    assert ["8", "wrong result", "", "x", "", f"{error}optctx time --again '{case}'"] in page.cells
    assert ["wrong result", "1", "argument 1 differs", "8 "] in page.cells


def test_only_a_confirmed_run_time_is_a_gain() -> None:
    def text_of(found: Study) -> str:
        return "\n".join(Page(as_page(found, SOURCE, "title")).texts)

    whole = study(50, (TIME,))
    best = [t for t in whole.trials if t.state == "ok"][3].number
    said = {"trial": best, "gain": True, "text": "1.25 times as fast (1.2 to 1.3), confirmed"}
    text = text_of(whole)
    assert "No gain in run time was found and confirmed." in text
    assert "Noise of this machine: the base differed from itself by -1.00 % to +1.00 %." in text
    assert "OptionContext" not in text
    text = text_of(replace(whole, confirmation=said))
    assert f"Best by time: trial {best}, " in text
    assert f"Second check of trial {best}: 1.25 times as fast (1.2 to 1.3), confirmed." in text
    assert "OptionContext" in text
    text = text_of(replace(whole, confirmation={**said, "gain": False, "text": "no gain: 0.99"}))
    assert "No gain in run time was found and confirmed." in text
    assert f"Second check of trial {best}: no gain: 0.99." in text
    assert "No second check has confirmed the run times." in text_of(study(50, (SIZE, TIME)))


def test_the_lines_have_the_options_alone_that_the_best_stands_on() -> None:
    whole = study(30)
    text = "".join(Page(as_page(whole, SOURCE, "title")).texts)
    assert "-idle-0=" in text
    least = Page(as_page(replace(whole, minimised={"unroll-count": "5"}), SOURCE, "title"))
    text = "".join(least.texts)
    assert f"With the 1 option that trial {whole.front[0].number} stands on." in text
    assert (
        "opt '-passes=default<O3>' -relocation-model=pic -unroll-count=5 -o kernel.opt.bc kernel.ll" in text
    )
    assert "OptionContext({'unroll-count': '5'})" in text
    assert "-idle-0=" not in text


def test_the_history_has_the_best_so_far_for_both_directions() -> None:
    found = study(50, (SIZE, SPEED))
    figures = figures_of(found, {})["history"]
    for (_, figure), goal, pick in zip(figures, (SIZE, SPEED), (min, max), strict=True):
        done = [trial.objectives[goal.name] for trial in found.trials if trial.state == "ok"]
        best = figure["data"][1]["y"]
        assert best == [pick(done[: place + 1]) for place in range(len(done))]


def test_the_options_that_matter_are_the_important_ones() -> None:
    shares = importances(study(200, (SIZE, SPEED), more=4))
    assert shares["size"]["unroll-count"] > 0.7
    assert shares["speed"]["fast"] > 0.7
    assert all(sum(own.values()) == pytest.approx(1) for own in shares.values())
    assert next(iter(shares["size"])) == "unroll-count"
    trials = [  # one with a condition
        replace(trial, objectives={"size": abs(int(trial.options.get("depth", "9")) - 3)})
        for trial in study(200, lost=0.0).trials
    ]
    shares = importances(replace(study(0), trials=tuple(trials)))
    assert next(iter(shares["size"])) == "depth"
    assert shares["size"]["unroll-count"] < 0.1
    same = tuple(replace(trial, options={"a": "1"}) for trial in study(30).trials)
    idle = STUDIES["equal figures"], study(1, lost=0.0), study(0), replace(study(0), trials=same)
    assert [importances(each) for each in idle] == [{"size": {}}] * len(idle)


def test_figures_as_people_read_them() -> None:
    assert figure_text(1234.0, SIZE) == "1234"
    assert figure_text(0.12345678, SIZE) == "0.123457"
    assert [figure_text(x, COMPILE) for x in (2.5, 1e-3, 4.2e-8, 0.0)] == ["2.5 s", "1 ms", "42 ns", "0 ns"]


# What cannot be written


def test_what_cannot_be_written_is_refused(tmp_path: pathlib.Path) -> None:
    missing = str(tmp_path / "no" / "report.html")
    with pytest.raises(OptctxError, match=f"cannot write a report to '{missing}': there is no directory"):
        check_report(missing)
    for module, called in (("plotly", "plotly"), ("optuna", "Optuna"), ("jinja2", "Jinja2")):
        with pytest.MonkeyPatch.context() as patch:
            for each in [each for each in sys.modules if each.partition(".")[0] == module]:
                patch.delitem(sys.modules, each)
            patch.setitem(sys.modules, module, None)
            with pytest.raises(OptctxError) as refusal:
                check_report(tmp_path / "a.html")
        assert str(refusal.value) == f"cannot write a report without {called}: pip install 'optctx[tune]'"
    assert list(tmp_path.iterdir()) == []
