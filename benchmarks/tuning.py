"""A search of 500 trials with static figures, and the same points through `opt` and `llc` as subprocesses.

The subprocesses compile a part of the points, two at once, with Debian's LLVM, and the time for all of them
is worked out from that. The search itself (asking a sampler) counts for optctx and not for them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks._module import module_text
from benchmarks._report import Report
from optctx.fresh import Job
from optctx.tuning import Budget, Study, parse_space, tune

_TRIALS = 500
_SAMPLE = 60  # points that the subprocesses compile
_SECONDS = 30.0
_FASTER = 15.0
_LINES = 200
_PROCESSORS = 2
OPTIONS = (
    "unroll-count=1..8",
    "inline-threshold=0..500:step=25",
    "enable-gvn-hoist=true,false",
    "enable-gvn-sink=true,false",
    "slp-threshold=-10..10",
    "max-dependences=10..1000:log",
    "jump-threading-threshold=1..16",
    "licm-max-num-uses-traversed=1..32",
)


def main() -> int:
    report = Report("A search of 500 trials")
    text = kernel()
    report.line("lines of the kernel", str(len(text.splitlines())))
    space = parse_space(OPTIONS)
    job = Job(text, triple="x86_64-pc-linux-gnu")
    for sampler in ("random", "tpe"):
        with tempfile.TemporaryDirectory() as folder:
            for where in (None, str(Path(folder, "night.db"))):
                study = tune(
                    job,
                    space,
                    sampler=sampler,
                    budget=Budget(trials=_TRIALS),
                    threads=_PROCESSORS,
                    study=where,
                )
                kept = "kept in a file" if where else "not kept"
                name = f"{sampler}, {kept}"
                report.line(f"{name}: compilations of {len(study.trials)}", str(study.compiled))
                report.target(f"{name}, s", study.seconds, _SECONDS)
                if where is None:
                    plain = _through_subprocesses(text, study)
                    report.line(f"{sampler}, opt and llc, s for {_TRIALS}", f"{plain:.1f}")
                    report.target(
                        f"{sampler}, opt and llc / optctx", plain / study.seconds, _FASTER, at_least=True
                    )
    return report.end()


def kernel() -> str:
    """The first functions of the module that other benchmarks have, as far as 200 lines go."""
    text = module_text(2)
    parts = text.split("\n\n; ")
    kept = parts[0]
    for part in parts[1:]:
        if len(kept.splitlines()) + len(part.splitlines()) > _LINES + 10:
            break
        kept += "\n\n; " + part
    return kept + "\n"


def _through_subprocesses(text: str, study: Study) -> float:
    """Seconds for all points, from those of a part."""
    points = [dict(trial.options) for trial in study.trials][:: max(1, _TRIALS // _SAMPLE)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_PROCESSORS) as pool:
        source = Path(folder, "kernel.ll")
        source.write_text(text)
        started = time.perf_counter()
        list(pool.map(lambda place: _compile(source, place, points[place]), range(len(points))))
        return (time.perf_counter() - started) / len(points) * len(study.trials)


def _compile(source: Path, place: int, options: dict[str, str]) -> int:
    """Bytes of the object."""
    code, out = source.with_name(f"{place}.bc"), source.with_name(f"{place}.o")
    words = [f"-{name}={value}" for name, value in options.items()]
    _run(["opt", "-opaque-pointers", "-passes=default<O3>", *words, str(source), "-o", str(code)])
    # llc knows options of its own passes alone.
    _run(["llc", "-opaque-pointers", "-O2", "-filetype=obj", str(code), "-o", str(out)])
    return os.path.getsize(out)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
