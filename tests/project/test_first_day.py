"""design/first-day.md leads to code that is there."""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "design" / "first-day.md").read_text()


def test_every_file_has_the_name_that_the_page_sends_to() -> None:
    steps = re.findall(r"((?:optctx|native)/[\w/]+\.[ch]?pp|(?:optctx|native)/[\w/]+\.py) +([\w:]+)", TEXT)
    answers = re.findall(r"^\| [^|]+ \| `([^`]+)` \| `([^`]+)` \|$", TEXT, re.MULTILINE)
    assert len(steps) >= 19
    assert len(answers) >= 10
    wrong = []
    for file, name in [*steps, *answers]:
        text = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
        defined = rf"^(def|    def|class) {name}\b" if file.endswith(".py") else rf"\b{re.escape(name)}\b"
        if not re.search(defined, text, re.MULTILINE):
            wrong.append(f"{file} has no {name}")
    named = set(re.findall(r"\b(?:optctx|native)/[\w/]+\.\w+", TEXT))
    wrong += [f"{each} is no file" for each in sorted(named) if not (ROOT / each).is_file()]
    assert not wrong, "\n".join(wrong)
