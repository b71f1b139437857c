"""A plan decides in the options of its survey: a second one, as where an engine falls back, begins anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.survey import Survey, survey
from optctx.plan import Plan, plan_redirected, read_references
from optctx.plan.plan import plan_in_place
from tests.support.alone import alone


def redirected(surveyed: Survey) -> Plan:
    return plan_redirected(surveyed, read_references(surveyed))


def decisions(plan: Plan) -> list[Any]:
    return [
        (option.names, option.scope, option.reason, option.slot, option.value_slot, option.readers)
        for option in plan.options.values()
    ]


@pytest.mark.iced
@alone
def test_a_second_plan_of_a_survey_decides_as_the_first_of_another_one_does() -> None:
    plans: list[Callable[[Survey], Plan]] = [redirected, plan_in_place]
    firsts = [decisions(plan(survey(llvmlite_image(), ()))) for plan in plans]
    assert firsts[0] != firsts[1]
    surveyed = survey(llvmlite_image(), ())
    for plan, first in zip([*plans, *plans], [*firsts, *firsts], strict=True):
        assert decisions(plan(surveyed)) == first


@alone
def test_a_place_is_in_the_object_or_in_the_variable_behind_it() -> None:
    plan = plan_in_place(survey(llvmlite_image(), ()))
    inside = next(option for option in plan.options.values() if option.name == "unroll-count")
    assert inside.place == (inside.address, inside.value_offset)
    assert inside.value_slot == inside.slot
    behind = [option for option in plan.options.values() if option.type.external and option.slot is not None]
    assert len(behind) > 20
    for option in behind:
        assert option.place == (option.variable, 0)
        assert len(option.slots) == 2
        assert plan.regions[option.value_slot or 0].live == option.variable
