"""Hints for pass pipelines that LLVM cannot parse."""

from __future__ import annotations

import re

from optctx.errors import shown
from optctx.image.loaded import llvmlite_image
from optctx.image.pass_names import pass_names
from optctx.wording import did_you_mean, nearest

__all__ = ["pipeline_hint"]

_LEVEL = re.compile(r"-?(?:default<)?-?(O[0-3sz])>?")
_UNKNOWN = re.compile(r"unknown (?:\w+ )*pass (?:name )?'(?P<name>[^']*)'")
_BAD_LEVEL = re.compile(r"(default|thinlto-pre-link|thinlto|lto-pre-link|lto)<")
_SYNTAX = "write it as for `opt -passes`, such as 'default<O3>' or 'function(sroa,instcombine)'"


def pipeline_hint(pipeline: str, said: str) -> str:
    """Say what to write instead, at the end of a message. `said`: LLVM's words."""
    text = pipeline.strip()
    if level := _LEVEL.fullmatch(text):
        return f"did you mean 'default<{level[1]}>'?"
    if not text:
        return _SYNTAX
    if text.count("(") != text.count(")"):
        return f"found {text.count('(')} '(' and {text.count(')')} ')'; close every parenthesis"
    if text.count("<") != text.count(">"):
        return f"found {text.count('<')} '<' and {text.count('>')} '>'; close every angle bracket"
    if text.startswith("-passes="):
        return f"leave out '-passes=': {shown(text.removeprefix('-passes='))}"
    if _BAD_LEVEL.match(text) and "optimization level" in said:
        return "the levels are O0, O1, O2, O3, Os and Oz, such as 'default<O3>'"
    if re.search(r"[\w>)]\s+-?\w", text):
        return f"separate passes with commas: {shown(_with_commas(text))}"
    return _nearest_pass(said) or _SYNTAX


def _with_commas(text: str) -> str:
    return ",".join(word.strip(",").lstrip("-") for word in text.split())


def _nearest_pass(said: str) -> str:
    found = _UNKNOWN.search(said)
    if found is None:
        return ""
    name = found["name"].lstrip("-").partition("<")[0]
    known = pass_names(llvmlite_image())
    if level := _LEVEL.fullmatch(name):
        return f"did you mean 'default<{level[1]}>'?"
    if name in known:  # LLVM does not know it inside a pass manager of another kind
        return f"{name!r} is a {known[name]} pass: write it at the top level, or inside {known[name]}(...)"
    return did_you_mean(repr(each) for each in nearest(name, known))
