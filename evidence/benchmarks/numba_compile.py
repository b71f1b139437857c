"""What optctx costs a compilation of Numba's; the baseline is a process without optctx.

There is a process for each way. They compile the same functions in turns, in an order that changes. The
figures are medians of what each took in relation to the baseline in the same round, in time of the
processor, which other work on the machine disturbs least.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

_OPTIONS = {"arm-parallel-dsp-load-limit": 3}  # which changes no code here: LLVM works as much
_ROUNDS = 40
_WARM = 3  # rounds that do not count
BASELINE = "without optctx (baseline)"
LIMITS = {  # way -> how much longer it may take than the baseline
    "attached": 1.01,
    "inside a scope": 1.02,
}
OWN = "optctx.numba.njit(options=...)"
_CACHED = "the same while reads are recorded (cache=True)"
_WAYS = (BASELINE, *LIMITS, OWN, _CACHED)


def main() -> int:
    from evidence.benchmarks._report import Report, spread

    report = Report("Compilations of Numba's")
    children = {way: _start(way) for way in _WAYS}
    first = {way: float(_ask(child)) for way, child in children.items()}
    found: dict[str, list[float]] = {way: [] for way in _WAYS}
    order = random.Random(1)
    for number in range(_WARM + _ROUNDS):
        for way in order.sample(_WAYS, len(_WAYS)):
            seconds = _ask(children[way])
            if number >= _WARM:
                found[way].append(seconds)
    for child in children.values():
        child.communicate()
    for way in _WAYS:
        report.line(f"{way}, ms", spread(found[way]).text(1e3, 1))
    base = BASELINE.partition(" (")[0]
    for way, limit in LIMITS.items():
        report.target(f"{way}, of {base}", _ratio(found[way], found[BASELINE]), limit)
    for way in (OWN, _CACHED):
        report.line(f"{way}, of {base}", f"{_ratio(found[way], found[BASELINE]):.3f}")
    more = (first[OWN] - first["attached"]) * 1e3
    report.line("the first function of a set of options, more", f"{more:.0f} ms")
    return report.end()


def _ratio(here: list[float], there: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(here, there, strict=True))


def _start(way: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "evidence.benchmarks.numba_compile", way]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(child: subprocess.Popen[str]) -> float:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    return float(json.loads(child.stdout.readline()))


def _child(way: str) -> None:
    import numba

    with ExitStack() as stack:
        decorate: Callable[[Any], Any] = numba.njit
        if way != BASELINE:
            decorate = prepared(way, stack)
        for _ in sys.stdin:
            print(json.dumps(compile_once(decorate)), flush=True)


def compile_once(decorate: Callable[[Any], Any]) -> float:
    """Compile the functions anew, and return the seconds that the processor worked."""
    functions = _functions(decorate)
    began = time.process_time()
    for function in functions:
        function.compile("(float64[:,::1], int64[::1])")
    return time.process_time() - began


def prepared(way: str, stack: ExitStack) -> Callable[[Any], Any]:
    """Attach and enter what the way is about; return the decorator to use."""
    import numba

    import optctx
    import optctx.numba

    optctx.attach()
    scope: AbstractContextManager[object] = nullcontext()
    if way == "inside a scope":
        scope = optctx.OptionContext(_OPTIONS)
    stack.enter_context(scope)
    if way not in (OWN, _CACHED):
        return numba.njit  # type: ignore[no-any-return]
    decorate = optctx.numba.njit(options=_OPTIONS)
    if way == _CACHED:
        decorate(lambda: None).targetdescr.target_context.codegen().records = True
    return decorate  # type: ignore[no-any-return]


def _functions(decorate: Callable[[Any], Any]) -> list[Any]:
    """New ones each time, of which the second calls the first."""

    def smoothed(grid: Any, counts: Any) -> float:
        result = 0.0
        for i in range(1, grid.shape[0] - 1):
            for j in range(1, grid.shape[1] - 1):
                if counts[i] % 3 == 0:
                    result += (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1]) / 4
                else:
                    grid[i, j] = max(grid[i, j], result) ** 2
        return result

    inner = decorate(smoothed)

    def sums(grid: Any, counts: Any) -> Any:
        total = inner(grid, counts) + (grid * 2 + 1).sum()
        for count in counts:
            total += count * counts[-1] if count > 5 else -count
        return total

    return [inner, decorate(sums)]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _child(sys.argv[1])
    else:
        sys.exit(main())
