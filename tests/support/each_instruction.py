"""Raises an exception in front of a chosen bytecode instruction of the files of some folders.

Of those before which CPython handles signals: behind a call, at the start of a function and at a jump back.
By `sys.settrace` before Python 3.12 and by `sys.monitoring` from then on: there, tracing misses instructions
that run before the tracer has asked for a frame's.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

Work = Callable[[], object]

# No signal is looked at between a call and the return of its result.
RETURNS = ("RETURN_VALUE", "RETURN_CONST")
TOOL = 4  # of the numbers that sys.monitoring has for tools, one that nobody else uses
monitoring: Any = getattr(sys, "monitoring", None)


class Interrupt(BaseException):
    """What is raised."""


def interrupt_at(work: Work, number: int, places: tuple[str, ...]) -> int:
    """Runs the work, interrupted before instruction `number` of files there; how many it reached."""
    return _monitored(work, number, places) if monitoring else _traced(work, number, places)


def instructions(work: Work, places: tuple[str, ...]) -> int:
    """How many there are to be interrupted."""
    return interrupt_at(work, sys.maxsize, places)


def stop() -> None:
    """Interrupts no more, until the work ends."""
    if monitoring and monitoring.get_tool(TOOL) is not None:
        monitoring.set_events(TOOL, monitoring.events.NO_EVENTS)
    sys.settrace(None)


@functools.cache
def _moments(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions before which a signal may have been handled.

    Not where other handlers of exceptions are in force than at the call, where the interpreter raises.
    """
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]

    def handler(offset: int) -> object:
        return next((entry.target for entry in table if entry.start <= offset < entry.end), None)

    found, name, at = set(), "", 0
    for each in dis.get_instructions(code):
        behind = name.startswith(("CALL", "RESUME")) and handler(at) == handler(each.offset)
        if (behind and each.opname not in RETURNS) or each.opname.startswith("JUMP_BACKWARD"):
            found.add(each.offset)
        name, at = each.opname, each.offset
    return frozenset(found)


def _monitored(work: Work, number: int, places: tuple[str, ...]) -> int:
    count, own = 0, threading.get_ident()

    def on_instruction(code: CodeType, offset: int) -> Any:
        nonlocal count
        if not code.co_filename.startswith(places):
            return monitoring.DISABLE
        if threading.get_ident() == own and offset in _moments(code):
            count += 1
            if count == number:
                stop()
                raise Interrupt
        return None

    _use_tool(places)
    monitoring.register_callback(TOOL, monitoring.events.INSTRUCTION, on_instruction)
    monitoring.set_events(TOOL, monitoring.events.INSTRUCTION)
    _until_interrupted(work)
    return count


_places: tuple[str, ...] | None = None


def _use_tool(places: tuple[str, ...]) -> None:
    """What was disabled for other places counts again; for the same ones, that would take long."""
    global _places
    if _places is None:
        monitoring.use_tool_id(TOOL, "interrupts")
    if _places != places:
        monitoring.restart_events()
        _places = places


def _traced(work: Work, number: int, places: tuple[str, ...]) -> int:
    count = 0

    def in_frame(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "opcode" and frame.f_lasti in _moments(frame.f_code):
            count += 1
            if count == number:
                stop()
                raise Interrupt
        return in_frame

    def on_call(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(places):
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return in_frame

    sys.settrace(on_call)
    _until_interrupted(work)
    return count


def _until_interrupted(work: Work) -> None:
    try:
        work()
    except Interrupt:
        pass
    finally:
        stop()
