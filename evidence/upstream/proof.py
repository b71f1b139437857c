"""Two threads of one process with different options, against a process of opt for each set of options."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .setup import Setup
from .shell import UpstreamError, run

PASSES = "default<O3>"
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
# Read while the legacy pass manager of a code generator runs its passes. Only ALL=1 rebuilds what reads the
# last one.
EMITTED = "Transforms/LoopStrengthReduce/X86/lsr-insns-1.ll"
EMIT_SETS: tuple[tuple[str, ...], ...] = ((), ("-lsr-insns-cost=false",))
EMIT_SETS_OF_ALL: tuple[tuple[str, ...], ...] = (
    *EMIT_SETS,
    ("-align-all-blocks=3",),
    ("-align-all-blocks=4", "-lsr-insns-cost=false"),
)
_REPEAT = 3


@dataclass(frozen=True)
class Outcome:
    """What was compared."""

    inputs: int
    runs: int
    """Processes with two or more threads."""
    threads: int
    """Threads whose module was compared, over all runs."""
    distinct: int
    """Different modules among the outputs of opt's processes, summed over the inputs."""
    emitted: int
    """Threads whose assembly was compared with that of a process of Debian's llc."""
    distinct_emitted: int


def prove(setup: Setup, programs: dict[str, Path], kernel: Path, *, all_files: bool) -> Outcome:
    """Compares threads with processes, for each input and mode. Raises UpstreamError if one differs.

    `programs` has the patched `opt` and `threads`; Debian's opt is the third witness. `all_files`: whether
    all files that know options are patched, those of the code generator among them.
    """
    inputs = [kernel, *(setup.source / "llvm" / "test" / name for name in INPUTS)]
    distinct = 0
    groups: list[tuple[Path, str, tuple[int, ...]]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in inputs:
            expected = [_alone(setup, programs["opt"], source, options) for options in OPTION_SETS]
            distinct += len(set(expected))
            mine = [(source, mode, group) for mode, group in _groups(source == kernel)]
            for _, mode, group in mine:
                outputs = {index: (OPTION_SETS[index], expected[index]) for index in group}
                _together(programs["threads"], folder, mode, source, PASSES, outputs)
            groups += mine
        emitted, distinct_emitted = _prove_emission(setup, programs["threads"], folder, all_files)
    threads = sum(len(group) for _, _, group in groups)
    return Outcome(len(inputs), len(groups), threads, distinct, emitted, distinct_emitted)


def _prove_emission(setup: Setup, threads: Path, folder: Path, all_files: bool) -> tuple[int, int]:
    """(threads whose assembly was compared with that of llc's processes, different ones among these)."""
    source = setup.source / "llvm" / "test" / EMITTED
    sets = EMIT_SETS_OF_ALL if all_files else EMIT_SETS
    outputs = {
        index: (options, run([setup.tool("llc"), "-o", "-", *options, source]))
        for index, options in enumerate(sets)
    }
    for mode in ("scope", "bound", "pool"):
        _together(threads, folder, mode, source, "emit", outputs)
    return 3 * len(sets), len({expected for _, expected in outputs.values()})


def _groups(every_pair: bool) -> list[tuple[str, tuple[int, ...]]]:
    """Option sets that run at the same time: pairs in scopes, all of them bound, and all in a pool."""
    sets = range(len(OPTION_SETS))
    pairs = itertools.combinations(sets, 2) if every_pair else itertools.pairwise(sets)
    bindable = tuple(index for index in sets if _bindable(OPTION_SETS[index]))
    return [*(("scope", pair) for pair in pairs), ("bound", bindable), ("pool", tuple(sets))]


def _bindable(options: Sequence[str]) -> bool:
    """Whether passes read the options while they run. The inliner's threshold is read when it is made."""
    return not any("inline-threshold" in option for option in options)


def _alone(setup: Setup, opt: Path, source: Path, options: Sequence[str]) -> str:
    """What the patched opt prints, once Debian's opt is seen to print the same."""
    words: list[str | Path] = ["-S", f"-passes={PASSES}", *options, source]
    patched, stock = run([opt, *words]), run([setup.tool("opt"), *words])
    if patched != stock:
        raise UpstreamError(f"{source.name} with {options}: the patched opt and Debian's differ")
    return patched


def _together(
    threads: Path,
    folder: Path,
    mode: str,
    source: Path,
    passes: str,
    outputs: Mapping[int, tuple[tuple[str, ...], str]],
) -> None:
    """One process, a thread for each of `outputs`: number -> (options, what a process gives with them)."""
    files = {index: folder / f"{index}.out" for index in outputs}
    words: list[str | Path] = [threads, mode, str(_REPEAT), source, passes]
    for index, (options, _) in outputs.items():
        words += ["--", files[index], *options]
    run(words)
    for index, (options, expected) in outputs.items():
        if files[index].read_text() != expected:
            others = [each for one, (each, _) in outputs.items() if one != index]
            raise UpstreamError(
                f"{source.name}, mode {mode}: the thread with {options} got another output than a process, "
                f"while other threads had {others}"
            )
