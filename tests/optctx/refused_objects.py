"""What the tables of refusals name besides optctx: objects that are closed, of another kind, or bound."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from llvmlite import binding

from optctx import OptionContext, bound
from optctx.compiling import Job, Result, compile_job
from optctx.compiling.facts import facts, load_facts
from optctx.values import CLASSES
from tests.support.ir_texts import SCALE, X86
from tests.support.links_modules import module_of, noted, stamped
from tests.support.runs import UNROLL, counted, machine

__all__ = [
    "CLASSES", "HUGE", "SCALE", "UNROLL", "X86", "Job", "attributed",
    "bound_to_five", "closed", "compile_job", "error_of", "generator", "llvm_context",
    "machine", "module", "module_of", "noted", "odd_facts", "of_another_library", "stamped", "unshown",
    "written",
]  # fmt: skip

HUGE = 10**5000  # which repr() refuses to write out
module = binding.parse_assembly("define void @f() { ret void }")
llvm_context = binding.create_context()
of_another_library = type("ContextRef", (), {"__module__": "other.binding", "closed": False})()


class Unshown:
    """As a caller's class may be."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


unshown = Unshown()


def closed(thing: Any) -> Any:
    thing.close()
    return thing


@contextmanager
def bound_to_five() -> Iterator[Any]:
    five = OptionContext({"unroll-count": 5}, base="defaults")
    with binding.create_context() as own:
        five.bind(own)
        try:
            yield own
        finally:
            assert bound(own) is five


def attributed(text: str, triple: str = X86) -> Any:
    """A module of two functions, of which one has this attribute."""
    made = binding.parse_assembly(counted(("good", ""), ("bad", text)))
    made.triple = triple
    return made


def error_of(result: Result) -> str | None:
    assert result.code == b""
    return result.error


def written(text: str) -> pathlib.Path:
    """A file of options."""
    path = pathlib.Path("best.toml")
    path.write_text(text)
    return path


def odd_facts(default: str) -> object:
    """Read an option of an LLVM, with this in the place of a number."""
    text = msgspec.json.encode(facts().only(lambda option: option.name == "unroll-count")).decode()
    return load_facts(text.replace('"default":0', f'"default":{default}').encode(), "old.json")


def generator() -> Iterator[None]:
    yield
