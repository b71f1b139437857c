"""The best set as the attribute "optctx" of a module's functions, tried before it is written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from optctx import OptionContext
from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.sweep.plan import Answer, Limits, Plan
from optctx.lab.timing.harness import opened_module
from optctx.lab.tuning.evaluate import Evaluator
from optctx.process import all_arguments, option_name, why_attributes_cannot_count

_POLICY = ("error", "tuning", "")  # of `attributes_policy`: tuning options alone, none by name
_ATTRIBUTE = re.compile(r'"optctx"\s*=')
_COMMENT = re.compile(";.*")  # or what follows a semicolon in a text; LLVM knows better, and reads it later
_PARENTHESES = re.compile(r'"[^"]*"|[()]')  # and what is quoted, as a whole
# What stands between a function's arguments and its attributes.
_BEHIND = re.compile(r"\s*(?:local_unnamed_addr|unnamed_addr|addrspace\(\d+\)|\s)*")


def check_marking(ir: str | bytes) -> None:
    """Raise OptctxError where attributes cannot count, and for the text of a module that has some already.

    Changes nothing; call it before a search whose best set goes into the module.
    """
    _check_that_they_can_count()
    if isinstance(ir, str):
        _check_unmarked(_COMMENT.sub("", ir))


def marked_and_tried(
    job: Job,
    context: OptionContext,
    limits: Limits = Limits(),  # noqa: B008  frozen
) -> str:
    """The module of a job, as text, with the overrides of a context as attributes of every function.

    It is compiled: once inside the context, once with the attributes alone. Raises OptctxError if the objects
    differ, because some options are read outside of functions' own passes; for an option that attributes may
    not set; and for a module that has such attributes already.
    """
    arguments = context.args()
    text = marked(job.ir, arguments)
    if not arguments:
        return text
    _check_that_they_can_count()
    alone = replace(limits, jobs=1, memory=None)
    expected = _compiled(job, ("ignore",), context, alone)
    found = _compiled(replace(job, ir=text), _POLICY, OptionContext(base="defaults"), alone)
    if expected.digest != found.digest:
        names = ", ".join(map(option_name, arguments))
        raise OptctxError(
            "cannot write the best set as attributes of functions: they have another effect than a context, "
            f"because LLVM reads some of {names} outside of functions; keep the set with --best"
        )
    return text


def marked(ir: str | bytes, arguments: Sequence[str]) -> str:
    """The same without trying. Raises OptctxError for a module that LLVM cannot read."""
    attribute = f'"optctx"="{_escaped(shlex.join(arguments))}"'
    with opened_module(ir) as module:
        text = str(module)  # in which the head of each function is a line
    _check_unmarked(text)
    lines = text.splitlines()
    if arguments:
        lines = [_with(line, attribute) if line.startswith("define ") else line for line in lines]
    return "\n".join(lines) + "\n"


def _check_that_they_can_count() -> None:
    if reason := why_attributes_cannot_count():
        raise OptctxError(
            f"cannot write the best set as attributes of functions: {reason}; keep the set with --best"
        )


def _check_unmarked(ir: str) -> None:
    if _ATTRIBUTE.search(ir):
        raise OptctxError(
            'cannot write the best set into this module: functions in it have the attribute "optctx"; '
            "take it out first"
        )


def _with(line: str, attribute: str) -> str:
    """The first line of a function, as LLVM prints it, with one more attribute."""
    depth, end = 0, 0
    for token in _PARENTHESES.finditer(line, line.index("@")):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if token[0] == ")" and not depth:  # that of the arguments
            end = token.end()
            break
    assert end, f"not as LLVM prints it: {line}"
    behind = _BEHIND.match(line, end)
    assert behind is not None
    return f"{line[:end]}{line[end : behind.end()].rstrip()} {attribute} {line[behind.end() :].lstrip()}"


def _escaped(text: str) -> str:
    """For a text in quotes of LLVM IR."""
    return "".join(
        chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\{each:02X}" for each in text.encode()
    )


def _compiled(job: Job, attributes: tuple[str, ...], context: OptionContext, limits: Limits) -> Answer:
    """Raises OptctxError if it does not come to an object."""
    alone = replace(job, options=(), emit="object")
    with Evaluator(Plan((alone,), all_arguments(context), attributes, limits)) as evaluator:
        answer = evaluator.base()
    if answer.state != "ok":
        raise OptctxError(f"cannot write the best set as attributes of functions: {answer.error}")
    return answer
