"""A sweep of which half the options are irrelevant, compiled through a cache keyed by what was read.

The baseline compiles every combination, as a cache would whose key has every option that is set. Results are
compared, byte for byte.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from evidence.benchmarks._report import Report, Spread, spread
from optctx import CompileCache, OptionContext
from optctx.fresh import Job, compile_job, initialise_targets

_KERNEL = Path(__file__).parents[2] / "examples" / "kernel.ll"
_RELEVANT = {"unroll-count": (1, 2, 4), "force-vector-width": (1, 4), "inline-threshold": (0, 225)}
# Of other targets, and of a pass that is not in the pipeline.
_IRRELEVANT = {
    "amdgpu-enable-delay-alu": (True, False),
    "aarch64-enable-ccmp": (True, False),
    "asan-stack": (True, False),
}
_REPEATS = 5
_FASTER = 3.0


def main() -> int:
    report = Report("A sweep through the compile cache")
    initialise_targets()
    text = _KERNEL.read_text()
    contexts = list(_combinations({**_RELEVANT, **_IRRELEVANT}))
    relevant = len(list(_combinations(_RELEVANT)))
    report.line("combinations; different ones that matter", f"{len(contexts)}; {relevant}")
    _compile_all(contexts, lambda: compile_job(Job(text)).code)  # what LLVM does once in a process
    expected = _compile_all(contexts, lambda: compile_job(Job(text)).code)
    plain = spread([_timed(contexts, lambda: compile_job(Job(text)).code)[0] for _ in range(_REPEATS)])
    report.line("without a cache, s", plain.text())
    with tempfile.TemporaryDirectory() as folder:
        for name, directory in (("in memory", None), ("in a folder", folder)):
            with CompileCache(directory) as cache:
                _measure(report, name, cache, contexts, text, plain, expected)
    return report.end()


def _measure(
    report: Report,
    name: str,
    cache: CompileCache,
    contexts: Sequence[OptionContext],
    text: str,
    plain: Spread,
    expected: Sequence[bytes],
) -> None:
    first, again = [], []
    for _ in range(_REPEATS):
        cache.clear()
        cache.hits = cache.misses = 0
        seconds, codes = _timed(contexts, lambda: cache.compile(text).code)
        first.append(seconds)
        hits = cache.hits / len(contexts)
        again.append(_timed(contexts, lambda: cache.compile(text).code)[0])
        report.passed &= codes == expected
    report.line(f"{name}, first sweep, s", spread(first).text())
    report.line(f"{name}, second sweep, s", spread(again).text())
    report.line(f"{name}, hits of the first sweep", f"{hits:.1%}")
    report.target(f"{name}, without / first", plain.median / spread(first).median, _FASTER, at_least=True)


def _combinations(values: Mapping[str, Sequence[object]]) -> Iterator[OptionContext]:
    for chosen in itertools.product(*values.values()):
        yield OptionContext(dict(zip(values, chosen, strict=True)))


def _compile_all(contexts: Sequence[OptionContext], compile_one: Callable[[], bytes]) -> list[bytes]:
    return [context.run(compile_one) for context in contexts]


def _timed(contexts: Sequence[OptionContext], compile_one: Callable[[], bytes]) -> tuple[float, list[bytes]]:
    started = time.perf_counter()
    codes = _compile_all(contexts, compile_one)
    return time.perf_counter() - started, codes


if __name__ == "__main__":
    sys.exit(main())
