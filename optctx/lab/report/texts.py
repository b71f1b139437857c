"""Texts and figures of a study as people read them. They may come from a file, and mean anything there."""

from __future__ import annotations

import html
import math

from optctx.lab.trials import Goal
from optctx.wording import printable, time_unit

_LONGEST = 2000  # characters


def visible(text: object, most: int = _LONGEST) -> str:
    """The text as `printable` has it. A text of more than `most` characters is cut."""
    whole = str(text)
    return printable(whole if len(whole) <= most else f"{whole[: most - 1]}…")


def markup(text: object, most: int = _LONGEST) -> str:
    """For plotly.js, which reads tags and entities in most texts, and formulas between dollar signs."""
    return html.escape(visible(text, most), quote=False).replace("$", "&#36;")


def figure_text(figure: float, goal: Goal) -> str:
    """A figure of an objective as people read it."""
    if goal.unit == "seconds":
        return seconds_text(figure)
    whole = abs(figure) < 1e15 and figure == math.floor(figure)
    return str(int(figure)) if whole else f"{figure:.6g}"


def seconds_text(seconds: float) -> str:
    """A time in the unit that suits it."""
    size, unit = time_unit(seconds)
    return f"{seconds / size:.4g} {unit}"


def change_text(figure: float, base: float) -> str:
    """How far a figure is from the base's: "-12.3%"; "" if the base has none to compare with."""
    return f"{(figure - base) / abs(base):+.1%}" if base else ""


def axis_title(goal: Goal) -> str:
    """The title of an axis with the figures of an objective."""
    return f"{goal.name} ({goal.unit})" if goal.unit and goal.unit != goal.name else goal.name
