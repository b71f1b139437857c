"""One module with hostile function attributes, as plain data, and what is done with it."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

from llvmlite import binding

import optctx
from optctx import OptctxError, UntrustedOptionWarning
from tests.long.fuzz.bases import Part

__all__ = ["Attribute", "Case", "attribute_text", "translate"]

_PLAIN = re.compile(rb"[ !#-\[\]-~]")


@dataclass(frozen=True)
class Attribute:
    """What one function has: the words of its attribute, and features of its target."""

    part: int
    function: int
    words: tuple[bytes, ...]
    features: str = ""

    def __str__(self) -> str:
        text = attribute_text(b" ".join(self.words))
        return f'"optctx"="{text}"' + (f' "target-features"="{self.features}"' if self.features else "")


@dataclass(frozen=True)
class Case:
    """A module linked of parts, its attributes, and what is done with it."""

    parts: tuple[Part, ...]
    attributes: tuple[Attribute, ...]
    mode: str  # of attributes
    triple: str = ""
    passes: str = ""
    emit: str = ""  # assembly, object
    opt_level: int = 2
    bitcode: bool = False
    flips: tuple[tuple[float, int], ...] = ()  # place in the bitcode, and what is added to the byte there
    watched: tuple[str, ...] = ()  # options whose process-wide values are compared, beside those that it sets

    def texts(self) -> list[str]:
        """The IR of each part."""
        found = []
        for number, part in enumerate(self.parts):
            here: dict[int, str] = {}
            for each in self.attributes:
                if each.part == number:
                    here[each.function] = f"{here.get(each.function, '')} {each}"
            found.append(part.text(here))
        return found

    @property
    def options(self) -> list[str]:
        """Words that look like options, of all attributes."""
        words = [word.decode(errors="replace") for each in self.attributes for word in each.words]
        return [word for word in words if word.startswith("-")]


def attribute_text(text: bytes) -> str:
    """Between the quotes of a string in IR."""
    return "".join(chr(byte) if _PLAIN.match(bytes((byte,))) else f"\\{byte:02x}" for byte in text)


def translate(case: Case) -> str:
    """Does with a module what a case says, on this thread. Returns one of FINE, or what is wrong."""
    with binding.create_context() as own:
        try:
            module = _parsed(case, own)
            if case.triple:
                module.triple = case.triple
            machine = binding.Target.from_triple(module.triple).create_target_machine(opt=case.opt_level)
        except RuntimeError:
            return "invalid"
        with module, machine, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            how = _compiled(case, module, machine)
        wrong = [str(each.message) for each in said if each.category is not UntrustedOptionWarning]
        if wrong or (said and case.mode != "warn"):
            return f"warns {[str(each.message) for each in said]}"
        return "warned" if said and how == "compiled" else how


def _parsed(case: Case, own: Any) -> Any:
    first, *others = (binding.parse_assembly(text, own) for text in case.texts())
    for other in others:
        first.link_in(other)
    if not case.bitcode and not case.flips:
        return first
    data = bytearray(first.as_bitcode())
    first.close()
    for place, more in case.flips:
        at = int(place * len(data))
        data[at] = (data[at] + more) % 256
    return binding.parse_bitcode(bytes(data), own)


def _compiled(case: Case, module: Any, machine: Any) -> str:
    before = str(module)
    try:
        if case.passes:
            optctx.run_passes(module, case.passes, target_machine=machine)
        before = str(module)
        if case.emit == "object":
            optctx.emit_object(module, machine)
        elif case.emit:
            optctx.emit_assembly(module, machine)
    except OptctxError as error:
        if str(error).startswith("nothing has been run") and str(module) != before:
            return f"runs although {error}"
        return "refused"
    return "compiled"
