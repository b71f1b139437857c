"""Modules with hostile function attributes, through passes and code generators, in a confined child."""

from __future__ import annotations

import re
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from llvmlite import binding

import optctx
from optctx import OptctxError, UntrustedOptionWarning, info
from tests.long.fuzz.bases import Part, files, prepare
from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import Target
from tests.long.fuzz.words import accepted, garbage, hostile, known_value, name_of, without_avoided
from tests.long.probe import jobs as probed

# Targets over which LLVM itself ends the process too often.
_FRAIL = ("bpfel", "lanai", "msp430", "xcore", "spirv64", "avr", "r600", "ve")
_OFTEN = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
TRIPLES = (*_OFTEN, *(each for each in probed.TRIPLES if each.partition("-")[0] not in _FRAIL))
_LLVM_SETS = {"min-jump-table-entries"}  # the targets themselves, for the process
_PIPELINES = (
    "default<O0>", "default<O1>", "default<O2>", "default<O2>", "default<O3>", "default<O3>", "default<Os>",
    "default<Oz>", "lto<O2>", "thinlto-pre-link<O2>",
)  # fmt: skip
_FEATURES = {  # another target would print that it does not know them
    # No LVI hardening: with it, and the large code model, LLVM ends the process for any large stack frame.
    "x86_64-pc-windows": ("", "", "", "+avx512f", "+avx2"),
    "x86": ("", "", "+lvi-load-hardening,+lvi-cfi", "+avx512f", "+avx2"),
    "aarch64": ("", "+sve"),
    "riscv": ("", "+v,+m"),
}


_PLAIN = re.compile(rb"[ !#-\[\]-~]")


def emissions(triple: str) -> tuple[str, ...]:
    """What LLVM can emit for a target; for NVPTX it prints that it has no object files."""
    return ("assembly",) if triple.startswith("nvptx") else ("object", "assembly")


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


class ModulesTarget(Target[Case]):
    name = "modules"

    def __init__(self, seconds: float = 20) -> None:
        self.limits = Limits(seconds)
        self._avoided: list[frozenset[str]] = []  # options that together are sure to be found again

    def prepare(self) -> None:
        prepare()
        optctx.attach(attributes="error", trust=("tuning",))
        counted = Case((Part("counted.ll"),), (), "ignore", passes="default<O3>")
        for triple in TRIPLES:
            for emit in emissions(triple):
                self.perform(replace(counted, triple=triple, emit=emit))
        odd = (b"-nosuch=1", b"\xff", b"-unroll-count=x", b"'", b"-debug", b"-unroll-count=0", b"a" * 99_999)
        for words in odd:
            for mode in ("error", "warn"):
                self.perform(replace(counted, attributes=(Attribute(0, 0, (words,)),), mode=mode))

    def make(self, random: Random) -> Case:
        parts = tuple(random.sample(files(), 1 if random.random() < 0.75 else 2))
        triple = random.choice(TRIPLES)
        count = random.choice((1, 1, 1, 2, 2, 5))
        attributes = [self._attribute(random, parts, triple) for _ in range(count)]
        if random.random() < 0.25:
            odd = hostile(random).word().encode("utf-8", "surrogateescape")
            at = random.randrange(len(attributes))
            words = list(attributes[at].words)
            words.insert(random.randint(0, len(words)), odd if random.random() < 0.7 else garbage(random))
            attributes[at] = replace(attributes[at], words=tuple(words))
        way = random.random()
        return Case(
            parts,
            tuple(attributes),
            random.choice(("error", "warn")),
            triple,
            "" if way > 0.8 else random.choice(_PIPELINES if way < 0.6 else probed.PASSES),
            "" if way < 0.25 else random.choice(emissions(triple)),
            random.randrange(4),
        )

    def _attribute(self, random: Random, parts: tuple[Part, ...], triple: str) -> Attribute:
        number = random.randrange(len(parts))
        settings = [accepted(random) for _ in range(random.choice((1, 2, 4, 8, 16, 30)))]
        left = without_avoided(self._avoided, settings)
        words = tuple(setting.word(random.choice(("-", "--"))).encode() for setting in left)
        features = next((own for start, own in _FEATURES.items() if triple.startswith(start)), ("",))
        function = random.randrange(parts[number].functions)
        return Attribute(number, function, words, random.choice(features))

    def perform(self, case: Case) -> str:
        optctx.attach(attributes=case.mode)  # type: ignore[arg-type]
        names = {*map(name_of, case.options)} - _LLVM_SETS
        before = {name: known_value(name) for name in names}
        how = translate(case)
        changed = sorted(name for name in names if known_value(name) != before[name])
        if changed:
            return f"changes {', '.join(changed)} for the process"
        if info()["active_scopes"]:
            return "leaves a scope entered"
        return how

    def stock(self, case: Case) -> Case:
        bare = (replace(each, words=()) for each in case.attributes if each.features)
        return replace(case, attributes=tuple(bare), mode="ignore")

    def avoid(self, case: Case) -> None:
        self._avoided.append(frozenset(map(name_of, case.options)))


def translate(case: Case) -> str:
    """Does with a module what a case says, on this thread. Returns one of FINE, or what is wrong."""
    with binding.create_context() as own, ExitStack() as kept:  # modules end before their LLVMContext
        try:
            parsed = [kept.enter_context(binding.parse_assembly(text, own)) for text in case.texts()]
            module, *others = parsed
            for other in others:
                module.link_in(other)
            if case.triple:
                module.triple = case.triple
            machine = binding.Target.from_triple(module.triple).create_target_machine(opt=case.opt_level)
        except RuntimeError:
            return "invalid"
        with machine, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            how = compiled(module, machine, case.passes, case.emit)
        wrong = [str(each.message) for each in said if each.category is not UntrustedOptionWarning]
        if wrong or (said and case.mode != "warn"):
            return f"warns {[str(each.message) for each in said]}"
        return "warned" if said and how == "compiled" else how


def compiled(module: Any, machine: Any, passes: str, emit: str) -> str:
    """Run passes and emit, if they are named; what is refused may have changed nothing."""
    before = str(module)
    try:
        if passes:
            optctx.run_passes(module, passes, target_machine=machine)
        before = str(module)
        if emit == "object":
            optctx.emit_object(module, machine)
        elif emit:
            optctx.emit_assembly(module, machine)
    except OptctxError as error:
        if str(error).startswith("nothing has been run") and str(module) != before:
            return f"runs although {error}"
        return "refused"
    return "compiled"
