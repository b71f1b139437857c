"""Modules with hostile function attributes, through passes and code generators, in a confined child."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from llvmlite import binding

import optctx
from optctx import OptctxError, UntrustedOptionWarning, info
from optctx.compiling import initialise_targets
from tests.long import probe as probed
from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import Target
from tests.long.fuzz.words import accepted, garbage, hostile, known_value, name_of, without_avoided

_SAMPLE = Path(__file__).parents[2] / "programs" / "sample"
_UNNAMED = re.compile(r" *(local_)?unnamed_addr")
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


# Valid IR to put hostile parts into: the files of tests/programs/sample


def prepare() -> None:
    """Do what opens files or is done once."""
    initialise_targets()
    for part in files():
        _split(part.file)


@cache
def files() -> list[Part]:
    """All, in order of their names."""
    return [Part(name) for name in sorted(path.name for path in _SAMPLE.glob("*.ll"))]


@dataclass(frozen=True)
class Part:
    """A file, of which no part is left out when a finding is made small."""

    file: str

    @property
    def functions(self) -> int:
        """How many have a body."""
        return len(_split(self.file)) - 1

    def text(self, attributes: Mapping[int, str]) -> str:
        """The IR; each of the `attributes` stands with its function, by the place of that in the file."""
        first, *functions = _split(self.file)
        return first + "".join(_with(text, attributes.get(at, "")) for at, text in enumerate(functions))


def attributed(text: str, attribute: str) -> str:
    """IR, in which every function that has a body has the attribute."""
    first, *functions = _parts(text)
    return first + "".join(_with(function, attribute) for function in functions)


def _parts(text: str) -> list[str]:
    """What is before the first function that has a body, and what begins with each."""
    return re.split(r"(?m)^(?=define )", text)


@cache
def _split(file: str) -> list[str]:
    lines = (_SAMPLE / file).read_text().splitlines()
    return _parts("\n".join(line for line in lines if not line.startswith(";")))


def _with(text: str, attribute: str) -> str:
    """A function with an attribute behind its parameters."""
    depth = 0
    for at in range(text.index("@"), len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if text[at] == ")" and depth == 0:
            break
    unnamed = _UNNAMED.match(text, at + 1)
    end = unnamed.end() if unnamed else at + 1
    return f"{text[:end]} {attribute}{text[end:]}"
