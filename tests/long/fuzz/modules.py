"""Modules with hostile function attributes, through passes and code generators, in a confined child."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from llvmlite import binding

import optctx
from optctx import info
from optctx.compiling import initialise_targets
from tests.long.fuzz.bases import Part, draw_part, files
from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import fewer
from tests.long.fuzz.module_case import Attribute, Case, translate
from tests.long.fuzz.words import accepted, garbage, hostile, known_value, name_of, without_avoided
from tests.long.probe.jobs import PASSES

__all__ = ["TRIPLES", "ModulesTarget"]

TRIPLES = (
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-gnu",  # twice as often
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-pc-windows-msvc",
    "i386-unknown-linux-gnu",
    "arm64-apple-macosx",
    "riscv64-unknown-linux-gnu",
    "armv7-unknown-linux-gnueabihf",
    "thumbv8.1m.main-none-eabi",
    "powerpc64le-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
    "wasm32-unknown-unknown",
    "mips-unknown-linux-gnu",
    "hexagon-unknown-elf",
    "loongarch64-unknown-linux-gnu",
    "sparcv9-unknown-linux-gnu",
    "amdgcn-amd-amdhsa",
    "nvptx64-nvidia-cuda",
    "powerpc64-ibm-aix7.2.0.0",
)
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


def emissions(triple: str) -> tuple[str, ...]:
    """What LLVM can emit for a target; for NVPTX it prints that it has no object files."""
    return ("assembly",) if triple.startswith("nvptx") else ("object", "assembly")


class ModulesTarget:
    """See `Target` in tests/long/fuzz/hunt.py."""

    name = "modules"
    again = (
        "from tests.long.fuzz.bases import Part\n"
        "from tests.long.fuzz.module_case import Attribute, Case\n"
        "from tests.long.fuzz.modules import ModulesTarget\n"
        "target = ModulesTarget()"
    )

    def __init__(self, seconds: float = 20) -> None:
        self.limits = Limits(seconds)
        self._avoided: list[frozenset[str]] = []  # options that together are sure to be found again

    def prepare(self) -> None:
        initialise_targets()
        binding.initialize_all_asmprinters()
        binding.initialize_native_asmparser()
        optctx.attach(attributes="error", trust=("tuning",))
        counted = Case((Part("counted.ll"),), (), "ignore", passes="default<O3>")
        for triple in TRIPLES:
            for emit in emissions(triple):
                self.perform(replace(counted, triple=triple, emit=emit, bitcode=True))
        refused = (
            b"-nosuch=1",
            b"\xff",
            b"-unroll-count=x",
            b"'",
            b"-debug",
            b"-unroll-count=0",
            b"a" * 99_999,
        )
        for words in refused:
            for mode in ("error", "warn"):
                self.perform(replace(counted, attributes=(Attribute(0, 0, (words,)),), mode=mode))
        for file in files():
            Part(file).text({})
        gc.collect()
        gc.freeze()  # children share these pages

    def make(self, random: Random) -> Case:
        parts = tuple(draw_part(random) for _ in range(1 if random.random() < 0.75 else 2))
        triple = random.choice(TRIPLES)
        features = next((own for start, own in _FEATURES.items() if triple.startswith(start)), ("",))
        style = random.random()
        attributes = []
        for _ in range(random.choice((1, 1, 1, 2, 2, 5))):
            number = random.randrange(len(parts))
            settings = [accepted(random, triple) for _ in range(random.choice((1, 2, 4, 8, 16, 30)))]
            texts = [
                setting.word(random.choice(("-", "--"))).encode()
                for setting in without_avoided(self._avoided, settings)
            ]
            attributes.append(
                Attribute(number, random.choice(parts[number].defined), tuple(texts), random.choice(features))
            )
        if style > 0.75:
            at = random.randrange(len(attributes))
            odd = (
                hostile(random).word().encode("utf-8", "surrogateescape") if style < 0.93 else garbage(random)
            )
            words_there = list(attributes[at].words)
            words_there.insert(random.randint(0, len(words_there)), odd)
            attributes[at] = replace(attributes[at], words=tuple(words_there))
        way = random.random()
        return Case(
            parts,
            tuple(attributes),
            random.choice(("error", "warn")),
            triple,
            "" if way > 0.8 else random.choice(_PIPELINES if way < 0.6 else PASSES),
            "" if way < 0.25 else random.choice(emissions(triple)),
            random.randrange(4),
            bitcode=random.random() < 0.3,
            flips=_flips(random) if random.random() < 0.1 else (),
        )

    def perform(self, case: Case) -> str:
        optctx.attach(attributes=case.mode)  # type: ignore[arg-type]
        names = {*map(name_of, case.options), *case.watched} - _LLVM_SETS
        before = {name: known_value(name) for name in names}
        how = translate(case)
        changed = sorted(name for name in names if known_value(name) != before[name])
        if changed:
            return f"changes {', '.join(changed)} for the process"
        if info()["active_scopes"]:
            return "leaves a scope entered"
        return how

    def stock(self, case: Case) -> Case:
        watched = tuple(map(name_of, case.options))
        if case.bitcode or case.flips:  # without the attribute the bytes would be others
            return replace(case, mode="ignore", watched=watched)
        bare = (replace(each, words=()) for each in case.attributes if each.features)
        return replace(case, attributes=tuple(bare), mode="ignore", watched=watched)

    def smaller(self, case: Case) -> Iterator[Case]:
        if case.flips:
            yield replace(case, flips=())
            yield from (replace(case, flips=each) for each in fewer(case.flips))
        if case.bitcode and not case.flips:
            yield replace(case, bitcode=False)
        yield from (replace(case, attributes=each) for each in fewer(case.attributes))
        for at, attribute in enumerate(case.attributes):
            for words in fewer(attribute.words):
                yield _with(case, at, replace(attribute, words=words))
            if attribute.features:
                yield _with(case, at, replace(attribute, features=""))
        if case.passes and case.emit:
            yield replace(case, passes="")
            yield replace(case, emit="")
        if len(case.parts) > 1:
            for number in range(len(case.parts)):
                yield _without_part(case, number)
        if case.passes not in ("", "default<O1>"):
            yield replace(case, passes="default<O1>")
        for number, part in enumerate(case.parts):
            for function in part.defined:
                for less in part.without(function):
                    parts = list(case.parts)
                    parts[number] = less
                    if not any(each.part == number and each.function == function for each in case.attributes):
                        yield replace(case, parts=tuple(parts))
            for function in part.declared:
                parts = list(case.parts)
                parts[number] = replace(
                    part, declared=part.declared - {function}, removed=part.removed | {function}
                )
                yield replace(case, parts=tuple(parts))

    def words(self, case: Case) -> str:
        hostile_parts = " ".join(map(str, case.attributes))[:300]
        flipped = f" and {len(case.flips)} flipped bytes" if case.flips else ""
        return (
            f"{hostile_parts}{flipped}, {case.mode}, {case.triple}, {case.passes or 'no passes'}, {case.emit}"
        )

    def avoid(self, case: Case) -> None:
        self._avoided.append(frozenset(map(name_of, case.options)))


def _flips(random: Random) -> tuple[tuple[float, int], ...]:
    return tuple((random.random(), random.randint(1, 255)) for _ in range(random.choice((1, 1, 2, 5))))


def _with(case: Case, at: int, attribute: Attribute) -> Case:
    return replace(case, attributes=(*case.attributes[:at], attribute, *case.attributes[at + 1 :]))


def _without_part(case: Case, number: int) -> Case:
    kept = (each for each in case.attributes if each.part != number)
    attributes = tuple(replace(each, part=each.part - (each.part > number)) for each in kept)
    return replace(case, parts=case.parts[:number] + case.parts[number + 1 :], attributes=attributes)
