"""Two threads of one process with different options, against a process of opt for each set of options."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import UpstreamError
from .setup import Setup
from .shell import run

__all__ = ["INPUTS", "MODES", "OPTION_SETS", "PASSES", "Outcome", "prove"]

PASSES = "default<O3>"
MODES = ("scope", "bound", "pool")
OPTION_SETS: tuple[tuple[str, ...], ...] = (
    (),
    ("-unroll-count=2",),
    ("-unroll-count=8", "-unroll-runtime=false"),
    ("-force-vector-width=8", "-force-vector-interleave=2"),
    ("-force-vector-width=1", "-unroll-threshold=1"),
    ("-inline-threshold=0", "-phi-node-folding-threshold=8"),
    ("-inline-threshold=5000", "-licm-mssa-max-acc-promotion=0"),
    ("-runtime-memory-check-threshold=0",),
    ("-rotation-max-header-size=0",),
    ("-slp-threshold=-100", "-jump-threading-threshold=0"),
)
INPUTS = (
    "Transforms/PhaseOrdering/X86/vector-reductions.ll",
    "Transforms/PhaseOrdering/X86/pixel-splat.ll",
    "Transforms/PhaseOrdering/X86/hoist-load-of-baseptr.ll",
    "Transforms/LoopVectorize/X86/gather_scatter.ll",
    "Transforms/LoopUnroll/runtime-loop.ll",
    "Transforms/Inline/basictest.ll",
)
_REPEAT = 3


@dataclass(frozen=True)
class Outcome:
    """What was compared."""

    inputs: int
    pairs: int
    runs: int
    """Pairs that ran, over all inputs and modes."""
    distinct: int
    """Different modules among the outputs of opt's processes."""


def prove(setup: Setup, programs: dict[str, Path], kernel: Path) -> Outcome:
    """Runs every pair of option sets over every input in every mode. Raises UpstreamError if one differs.

    `programs` has the patched `opt` and `threads`; Debian's opt is the third witness.
    """
    inputs = [kernel, *(setup.source / "llvm" / "test" / name for name in INPUTS)]
    pairs = list(itertools.combinations(range(len(OPTION_SETS)), 2))
    distinct = 0
    runs = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in inputs:
            expected = [_alone(setup, programs["opt"], source, options) for options in OPTION_SETS]
            distinct += len(set(expected))
            for mode, pair in itertools.product(MODES, pairs):
                if mode == "bound" and not _bindable(pair):
                    continue
                _together(programs["threads"], folder, mode, source, pair, expected)
                runs += 1
    return Outcome(len(inputs), len(pairs), runs, distinct)


def _bindable(pair: Sequence[int]) -> bool:
    """Whether passes read all options of both sets while they run. The inliner's threshold is read before."""
    return not any("inline-threshold" in option for index in pair for option in OPTION_SETS[index])


def _alone(setup: Setup, opt: Path, source: Path, options: Sequence[str]) -> str:
    """What the patched opt prints, once Debian's opt is seen to print the same."""
    words: list[str | Path] = ["-S", f"-passes={PASSES}", *options, source]
    patched, stock = run([opt, *words]), run([setup.tool("opt"), *words])
    if patched != stock:
        raise UpstreamError(f"{source.name} with {options}: the patched opt and Debian's differ")
    return patched


def _together(
    threads: Path, folder: Path, mode: str, source: Path, pair: Sequence[int], expected: Sequence[str]
) -> None:
    outputs = [folder / f"{index}.ll" for index in pair]
    words: list[str | Path] = [threads, mode, str(_REPEAT), source, PASSES]
    for index, output in zip(pair, outputs, strict=True):
        words += ["--", output, *OPTION_SETS[index]]
    run(words)
    for index, output in zip(pair, outputs, strict=True):
        if output.read_text() != expected[index]:
            both = [OPTION_SETS[one] for one in pair]
            raise UpstreamError(
                f"{source.name}, mode {mode}, threads with {both[0]} and {both[1]}: the thread with "
                f"{OPTION_SETS[index]} got another module than a process of opt"
            )
