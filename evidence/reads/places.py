"""From where LLVM reads options in real compilations, and whether a context is reachable there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field

from evidence.census.counts import counts
from evidence.reads.contexts import nearest, reached
from evidence.reads.signature import signature_of
from evidence.reads.stacks import FirstRead, RecordingStacks, stacks_in
from optctx._native import demangle
from optctx.engine.attach import attach
from optctx.reads.readers import ReaderIndex, reader_index

NONE = "none"
_OF_LLVM_CONTEXT = ("Function", "Module", "MachineFunction", "LLVMContext")  # each leads to its LLVMContext
_KEPT = 1 << 15  # stacks whose functions are not looked up again


def first_reads(work: Callable[[], object]) -> list[FirstRead]:
    """Run `work` and return the first read of each reader on this thread, with its call stack.

    The stacks have the frames of LLVM's library only. Raises as `record()` does.
    """
    recording = RecordingStacks()
    with recording:
        work()
    begin, end = attach().image.text_begin, attach().image.text_end
    return [
        read._replace(addresses=tuple(address for address in read.addresses if begin <= address < end))
        for read in stacks_in(recording)
    ]


@dataclass
class ReadPlace:
    """One option as one function reads it, over all compilations.

    `function`: demangled; inlined code counts for the function that it is in. `seen`: the
    compilations that read it there. `contexts`: those reachable in every one, with the most frames between
    the reader (0) and the nearest function that reaches the context. `nearest` and `frames`: of the stack
    that is farthest from any context; "none" and -1 if in one of them none is reachable. `via`: the class
    there. `without`: the compilations in which none is reachable. `making`: the class of the innermost
    constructor on the stack, empty without. `example`: the functions of LLVM on that stack, the reader first.
    """

    option: str
    function: str
    seen: int = 0
    contexts: dict[str, int] = field(default_factory=dict)
    nearest: str = ""
    frames: int = -1
    via: str = ""
    without: int = 0
    making: str = ""
    example: tuple[str, ...] = ()

    def add(self, stack: tuple[str, ...]) -> None:
        """Count a stack."""
        found = reached(stack)
        shared = self.contexts.keys() & found.keys() if self.seen else found.keys()
        self.contexts = {name: max(self.contexts.get(name, 0), found[name][0]) for name in sorted(shared)}
        self.seen += 1
        self.without += not found
        closest = nearest(found)
        frames, via = found[closest] if closest else (-1, "")
        if self.seen == 1 or (self.frames >= 0 and not 0 <= frames <= self.frames):
            self.nearest, self.frames, self.via, self.example = closest or NONE, frames, via, stack
            self.making = next((made for made in map(_made, stack) if made), "")


def _made(function: str) -> str:
    return signature_of(function).constructs


class Reads:
    """Every place in LLVM that read an option, over any number of compilations."""

    def __init__(self) -> None:
        """Attach. Raises as `record()` does."""
        self._engine = attach()
        self._index: ReaderIndex = reader_index(self._engine)
        self._names: dict[int, str] = {}
        self._stacks: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._places: dict[tuple[str, str], ReadPlace] = {}
        self.compilations = 0
        self.cut = 0  # stacks whose outer frames are missing
        self.failed: dict[str, str] = {}  # what could not be compiled -> why

    def add(self, reads: Iterable[FirstRead]) -> None:
        """Count the first reads of one compilation."""
        self.compilations += 1
        counted: set[tuple[str, str]] = set()
        for read in reads:
            self.cut += not read.whole
            stack = self._stack(read.addresses)
            for option in self._index.options[read.reader]:
                place = (option.name, stack[0])
                if place not in counted:  # a function may read several members of an option
                    counted.add(place)
                    self._place(place, read.addresses[0]).add(stack)

    @property
    def unseen(self) -> list[str]:
        """The names of the options whose reads are not seen."""
        plan = self._engine.plan
        seen = {option.name for options in self._index.options for option in options}
        options = [option for option in plan.options.values() if not option.alias_of]
        return sorted(
            option.name
            for option in options
            if option.scope == "process" or (option.readers and option.name not in seen)
        )

    @property
    def places(self) -> list[ReadPlace]:
        """By option and function."""
        return [self._places[place] for place in sorted(self._places)]

    @property
    def totals(self) -> dict[str, dict[str, int]]:
        """Subject -> what -> number, of places and of options; an option counts as its worst place."""
        places = self.places
        worst: dict[str, ReadPlace] = {}
        for place in places:
            if place.option not in worst or _rank(place) > _rank(worst[place.option]):
                worst[place.option] = place
        made = {place.option for place in places if place.making}
        otherwise = {place.option for place in places if not place.making}
        least = {place.option: place for place in sorted(places, key=_llvm_frames)}  # the last one counts
        return {
            "compilations": {
                "compiled": self.compilations,
                "failed": len(self.failed),
                "stacks cut": self.cut,
            },
            "places by nearest context": counts(_how_near(place) for place in places),
            "options by nearest context": counts(_how_near(place) for place in worst.values()),
            "places by nearest kind of context": counts(place.nearest for place in places),
            "reads while an object is made": {
                "places": sum(bool(place.making) for place in places),
                "options": len(made),
                "options read nowhere else": len(made - otherwise),
            },
            "places by what leads to an LLVMContext": counts(map(_leads, places)),
            "options by what leads to an LLVMContext": counts(map(_leads, least.values())),
            "places without a context, by what is made": counts(
                p.making or "nothing" for p in places if p.without
            ),
        }

    def _place(self, key: tuple[str, str], address: int) -> ReadPlace:
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = ReadPlace(*key)
        return found

    def _stack(self, addresses: tuple[int, ...]) -> tuple[str, ...]:
        """The functions, demangled."""
        found = self._stacks.get(addresses)
        if found is None:
            if len(self._stacks) >= _KEPT:
                self._stacks.clear()
            found = self._stacks[addresses] = tuple(map(self._name, addresses))
        return found

    def _name(self, address: int) -> str:
        found = self._names.get(address)
        if found is None:
            symbol = self._engine.image.function_at(address)
            found = self._names[address] = demangle(symbol.name) if symbol is not None else "?"
        return found


def _llvm_frames(place: ReadPlace) -> tuple[bool, bool, int]:
    """By how hard it is to reach an LLVMContext there: last where no context is reachable."""
    frames = [place.contexts[name] for name in place.contexts if name in _OF_LLVM_CONTEXT]
    return not frames, place.frames < 0, min(frames, default=0)


def _leads(place: ReadPlace) -> str:
    hard, none, frames = _llvm_frames(place)
    if none:
        return "no context at all"
    if hard:
        return "only a TargetMachine or MCContext"
    return "the reader" if frames == 0 else "a caller"


def _rank(place: ReadPlace) -> tuple[bool, int]:
    return place.frames < 0, place.frames


def _how_near(place: ReadPlace) -> str:
    if place.frames < 0:
        return NONE
    if place.frames == 0:
        return "in the reader"
    return "1 to 3 frames out" if place.frames <= 3 else "4 or more frames out"


def reads_as_json(reads: Reads) -> str:
    """One object: `reads` (the format, 1), `build_id`, `totals`, `unseen`, `failed` and `places`."""
    return json.dumps(
        {
            "reads": 1,
            "build_id": reads._engine.image.build_id,
            "totals": reads.totals,
            "unseen": reads.unseen,
            "failed": reads.failed,
            "places": [asdict(place) for place in reads.places],
        },
        indent=1,
    )
