"""What optctx does with an image beside giving contexts their values, and the facts that each of it needs."""

from __future__ import annotations

from typing import Any, Final

from optctx.image.facts.fact import Fact, Family
from optctx.image.facts.interceptions import BINDING, INTERCEPTIONS
from optctx.image.facts.mangled_names import (
    ATTRIBUTES,
    COMPILING,
    CURRENT_DEBUG_TYPES,
    DEBUG_FLAG,
    END_STREAM,
    INTERCEPTING,
    IS_DEBUG_TYPE,
    MAKE_STREAM,
    METADATA,
    OPT_BISECTOR,
    PARSE_OPTIONS,
    PASS_GATE,
    PRINT_PASS_NAMES,
    SET_DEBUG_TYPES,
)
from optctx.image.loaded import Image

__all__ = ["DEBUG_OUTPUT", "missing_features", "why_missing"]

DEBUG_OUTPUT: Final = "debug output for one thread"
_FEATURES: Final[dict[str, tuple[Fact[Any] | Family, ...]]] = {
    BINDING: (*(row.what for row in INTERCEPTIONS if row.feature == BINDING), *INTERCEPTING),
    DEBUG_OUTPUT: (DEBUG_FLAG, CURRENT_DEBUG_TYPES, IS_DEBUG_TYPE),
    "debug-only while a context is entered": (CURRENT_DEBUG_TYPES, IS_DEBUG_TYPE, SET_DEBUG_TYPES),
    "opt-bisect-limit while a context is entered": (PASS_GATE, OPT_BISECTOR),
    "compiling without llvmlite's lock": tuple(COMPILING.values()),
    "stamps in modules": tuple(METADATA.values()),
    "options lowered into modules": tuple(ATTRIBUTES.values()),
    "names of passes": (PRINT_PASS_NAMES, MAKE_STREAM, END_STREAM),
    "fresh processes": (PARSE_OPTIONS,),
}


def why_missing(image: Image, feature: str) -> str:
    """Say which facts of a feature the image lacks; empty if it has them all."""
    return image.findings.lacking(_FEATURES[feature])


def missing_features(image: Image) -> dict[str, str]:
    """Map each feature that the image cannot have to the facts that it lacks."""
    reasons = {feature: why_missing(image, feature) for feature in _FEATURES}
    return {feature: reason for feature, reason in reasons.items() if reason}
