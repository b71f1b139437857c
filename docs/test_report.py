"""The report of a study in a real browser: `make docs-test`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import OFFLINE, loaded
from PIL import Image

from optctx.lab.report import Source, write_report
from optctx.lab.tuning.results import Study
from tests.support.tuning_studies import SIZE, SPEED, TIME, all_lost, hostile, study

FIGURES = ["history", "importance", "front", "slices", "parallel"]
FEW = [name for name in FIGURES if name not in ("importance", "front")]
STUDIES = {
    "two objectives": (study(200, (SIZE, TIME)), FIGURES),
    "three objectives": (study(120, (SIZE, TIME, SPEED)), FIGURES),
    "one trial": (study(1, lost=0.0), FEW),
    "all failed": (all_lost(5), ["history"]),
    "no trials": (study(0), []),
    # Its figures are as good as random: no option is important.
    "hostile texts": (hostile(), [name for name in FIGURES if name != "importance"]),
    "many trials": (study(5000, (SIZE, TIME), more=9), FIGURES),
}


def opened(found: Study, folder: Path, script: str = "") -> str:
    """The document of a report, in which a script may run once it has been drawn."""
    file = folder / "report.html"
    write_report(found, file, source=Source("kernel.ll"))
    if script:
        text = file.read_text(encoding="utf-8")
        text, policies = re.subn(r"<meta http-equiv=[^>]*>", "", text)
        assert policies == 1
        file.write_text(text.replace("</body></html>", f"<script>{script}</script>"), encoding="utf-8")
    return loaded(file.as_uri(), folder / "profile", *OFFLINE)


def figures(document: str) -> list[str]:
    """The sections with figures that plotly.js says it has drawn."""
    places = re.findall(r'<div class="figure\b(?!s)[^>]*>', document)
    assert all('data-drawn="yes"' in place for place in places)
    return list(dict.fromkeys(re.findall(r'id="(\w+)-', place)[0] for place in places))


def column(document: str, place: int) -> list[str]:
    """The cells of the table of trials that are shown."""
    body = document.split('id="trials"', 1)[1].split("</table>", 1)[0].split("<tbody>", 1)[1]
    rows = [
        row for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL) if " hidden" not in row.split(">", 1)[0]
    ]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)[place] for row in rows]


@pytest.mark.parametrize("kind", STUDIES)
def test_every_figure_is_drawn_without_a_network(kind: str, tmp_path: Path) -> None:
    found, expected = STUDIES[kind]
    document = opened(found, tmp_path)
    assert figures(document) == expected
    assert column(document, 0) == ["base", *(str(trial.number) for trial in found.trials)]
    done = sum(trial.state == "ok" for trial in found.trials)
    if kind in ("one trial", "two objectives"):  # a mark for each trial, in each panel
        history = document.split('class="figures history"', 1)[1].split("<h2", 1)[0]
        assert history.count('<path class="point') == len(found.trials) * len(found.goals)
        slices = document.split('class="figures slices"', 1)[1].split("<h2", 1)[0]
        counted = sum(len(trial.options) for trial in found.trials if trial.state == "ok")
        assert slices.count('<path class="point') == counted * len(found.goals) >= done


def test_lines_are_drawn_between_the_axes_of_options(tmp_path: Path) -> None:
    """Pixels, as it is WebGL that draws them."""
    script = (
        "for (const each of [...document.querySelector('main').children])"
        " if (!each.classList.contains('parallel')) each.style.display = 'none';"
    )
    write_report(study(100), tmp_path / "report.html", source=Source("kernel.ll"))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    text = re.sub(r"<meta http-equiv=[^>]*>", "", text)
    text = text.replace("</body></html>", f"<script>{script}</script>")
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    picture = tmp_path / "picture.png"
    shot = ("--window-size=1250,700", f"--screenshot={picture}")
    loaded((tmp_path / "report.html").as_uri(), tmp_path / "profile", *OFFLINE, *shot)
    with Image.open(picture) as image:
        pixels = image.convert("RGB").crop((150, 150, 900, 450)).tobytes()
    coloured = sum(max(pixel) - min(pixel) > 40 for pixel in zip(*[iter(pixels)] * 3, strict=True))
    assert coloured > 2000


def test_no_text_of_a_study_runs(tmp_path: Path) -> None:
    """The texts call alert(), and would be elements: also where the policy of the page does not hold."""
    document = opened(hostile(), tmp_path, "window.alert = () => document.body.id = 'attacked';")
    assert 'id="attacked"' not in document
    body = document.split("<body", 1)[1].split("<script", 1)[0]
    assert not re.search(r"<img|<b>|onerror=(?!alert\(2\)&(?:amp;)?gt;)", body)
    # Plotly shows the texts as they are.
    assert body.count("&lt;/script&gt;&lt;script&gt;") > 100


def test_the_table_is_sorted_and_filtered(tmp_path: Path) -> None:
    found = study(40, (TIME,), more=0)
    click = "document.querySelectorAll('#trials th button')[5].click();"
    times = {str(trial.number): trial.objectives.get("time") for trial in found.trials}
    times["base"] = found.base.objectives["time"]
    known = sorted((time, name) for name, time in times.items() if time is not None)
    up = column(opened(found, tmp_path, click), 0)
    assert up[: len(known)] == [name for _, name in known]
    down = column(opened(found, tmp_path, click * 2), 0)
    assert down[: len(known)] == [name for _, name in known[::-1]]
    assert (
        set(up[len(known) :]) == set(down[len(known) :]) == {n for n, time in times.items() if time is None}
    )
    words = (
        "const field = document.getElementById('words'); field.value = 'state=CRASHED why';"
        "field.dispatchEvent(new Event('input'));"
    )
    shown = column(opened(found, tmp_path, words), 0)
    assert shown == [str(trial.number) for trial in found.trials if trial.state == "crashed"] != []
    exact = words.replace("state=CRASHED why", "unroll-count=1 4")
    wanted = [
        t.number
        for t in found.trials
        if t.options["unroll-count"] == "1" and (t.options.get("depth") == "4" or t.number == 4)
    ]
    assert column(opened(found, tmp_path, exact), 0) == [str(number) for number in wanted]
