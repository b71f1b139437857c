"""Which mechanism carries values to LLVM in this process: OPTCTX_ENGINE says so by hand."""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

from optctx._native import Image
from optctx.engine.exclusive_engine import TakingTurns
from optctx.engine.mechanism import CannotRedirectError, Clock, Mechanism
from optctx.engine.thread_engine import Redirecting
from optctx.errors import EngineWarning, OptctxError, UnsupportedImageError, level_outside
from optctx.image.memory import checking
from optctx.image.survey import Survey
from optctx.plan.reach import Reach

__all__ = [
    "VARIABLE",
    "Choice",
    "cannot_redirect",
    "choose",
    "fall_back",
    "warn_of_fallback",
]

VARIABLE = "OPTCTX_ENGINE"
_AUTOMATIC = ""


class Choice(NamedTuple):
    """A mechanism that can be attached, and why this one. `fell_back`: the user did not ask for it."""

    mechanism: Mechanism
    reason: str
    fell_back: bool = False


def choose(image: Image, survey: Survey, clock: Clock, reach: Reach | None = None) -> Choice:
    """The mechanism "thread" where nothing stands against it, else "exclusive". Attaches nothing yet.

    `reach`: of the values of contexts, where it is not every read. Raises OptctxError for another value of
    the variable, and UnsupportedImageError.
    """
    wanted = _wanted()
    if wanted == TakingTurns.name:
        return Choice(_taking_turns(image, survey, clock), f"{VARIABLE}={wanted}")
    try:
        with checking(image.path):
            mechanism = Redirecting(image, survey, clock, reach)
    except CannotRedirectError as error:
        return fall_back(error, image, survey, clock)
    return Choice(mechanism, f"{VARIABLE}={wanted}" if wanted else "LLVM's code could be changed")


def fall_back(error: CannotRedirectError, image: Image, survey: Survey, clock: Clock) -> Choice:
    """The mechanism "exclusive", in place of one that could not be had.

    Raises UnsupportedImageError if the variable asks for that one.
    """
    if _wanted() == Redirecting.name:
        raise cannot_redirect(error) from error
    mechanism = _taking_turns(image, survey, clock)
    return Choice(mechanism, f"LLVM's code cannot be changed: {error}", fell_back=True)


def _taking_turns(image: Image, survey: Survey, clock: Clock) -> TakingTurns:
    with checking(image.path):
        return TakingTurns(image, survey, clock)


def cannot_redirect(error: CannotRedirectError) -> UnsupportedImageError:
    """For a process that must have the mechanism "thread"."""
    return UnsupportedImageError(
        f"could not redirect LLVM's option reads, nothing was changed: {error}; "
        f"{VARIABLE}={TakingTurns.name} works without"
    )


def warn_of_fallback(reason: str) -> None:
    """Says to the caller of this package that threads take turns, and why."""
    warnings.warn(
        f"threads with different LLVM options take turns in this process: {reason}; set {VARIABLE} to "
        f"{TakingTurns.name} where that is expected, or to {Redirecting.name} for an error instead",
        EngineWarning,
        stacklevel=level_outside(),
    )


def _wanted() -> str:
    value = os.environ.get(VARIABLE, _AUTOMATIC)
    if value not in (_AUTOMATIC, Redirecting.name, TakingTurns.name):
        raise OptctxError(
            f"cannot choose how to run: expected {VARIABLE} to be {Redirecting.name}, {TakingTurns.name} "
            f"or empty (automatic), found {value!r}"
        )
    return value
