"""Which engine carries values to LLVM in this process: OPTCTX_ENGINE says so by hand."""

from __future__ import annotations

import os
import warnings

from optctx.arch import CannotDecodeError
from optctx.engine.engine import CannotRedirectError, Clock, Engine
from optctx.engine.exclusive_engine import ExclusiveEngine
from optctx.engine.thread_engine import ThreadEngine
from optctx.errors import EngineWarning, OptctxError, UnsupportedImageError, level_outside
from optctx.image.memory import checking
from optctx.image.survey import Survey
from optctx.plan.plan import plan_in_place, plan_redirected
from optctx.plan.references import read_references

__all__ = ["VARIABLE", "cannot_redirect", "choose", "fall_back", "warn_of_fallback"]

VARIABLE = "OPTCTX_ENGINE"
_AUTOMATIC = ""


def choose(survey: Survey, clock: Clock) -> Engine:
    """Make the engine "thread" if the machine and the library allow it, else "exclusive". Attaches nothing.

    Raises OptctxError if OPTCTX_ENGINE has an unknown value, and UnsupportedImageError.
    """
    wanted = _wanted()
    if wanted == ExclusiveEngine.name:
        return _taking_turns(survey, clock, f"{VARIABLE}={wanted}")
    try:
        with checking(survey.image.path):
            plan = plan_redirected(survey, read_references(survey))
            clock.lap("sites")
            engine = ThreadEngine(survey, plan, clock)
    except CannotRedirectError as error:
        return fall_back(error, survey, clock)
    except CannotDecodeError as error:
        return fall_back(CannotRedirectError(f"instructions cannot be decoded: {error}"), survey, clock)
    engine.reason = f"{VARIABLE}={wanted}" if wanted else "LLVM's code could be changed"
    return engine


def fall_back(error: CannotRedirectError, survey: Survey, clock: Clock) -> Engine:
    """Make the engine "exclusive", because "thread" is not available.

    Raises UnsupportedImageError if OPTCTX_ENGINE asks for "thread".
    """
    if _wanted() == ThreadEngine.name:
        raise cannot_redirect(error) from error
    engine = _taking_turns(survey, clock, f"LLVM's code cannot be changed: {error}")
    engine.fell_back = True
    return engine


def _taking_turns(survey: Survey, clock: Clock, reason: str) -> ExclusiveEngine:
    with checking(survey.image.path):
        engine = ExclusiveEngine(survey, plan_in_place(survey), clock)
    engine.reason = reason
    return engine


def cannot_redirect(error: CannotRedirectError) -> UnsupportedImageError:
    """Make the error for a process that must have the engine "thread"."""
    return UnsupportedImageError(
        f"could not redirect LLVM's option reads, nothing was changed: {error}; "
        f"{VARIABLE}={ExclusiveEngine.name} works without"
    )


def warn_of_fallback(reason: str) -> None:
    """Warn the caller of this package that threads take turns, and why."""
    warnings.warn(
        f"threads with different LLVM options take turns in this process: {reason}; set {VARIABLE} to "
        f"{ExclusiveEngine.name} where that is expected, or to {ThreadEngine.name} for an error instead",
        EngineWarning,
        stacklevel=level_outside(),
    )


def _wanted() -> str:
    value = os.environ.get(VARIABLE, _AUTOMATIC)
    if value not in (_AUTOMATIC, ThreadEngine.name, ExclusiveEngine.name):
        raise OptctxError(
            f"cannot choose how to run: expected {VARIABLE} to be {ThreadEngine.name}, "
            f"{ExclusiveEngine.name} or empty (automatic), found {value!r}"
        )
    return value
