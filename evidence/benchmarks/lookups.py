"""What lookups and scopes from C++ cost.

The baselines are a hash map of as many names, Python's own lookup, and a scope of Python's.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path

from evidence.benchmarks._report import Report, compile_cpp, spread
from optctx import OptionContext, get_include

_REPEATS = 15
_LOOPS = 500_000
_PYTHON_LOOPS = 20_000
_TEXT_LOOPS = 2_000
_NAME_LIMIT = 250.0  # nanoseconds
_SCOPE_LIMIT = 300.0  # nanoseconds

_VALUES: dict[str, object] = {
    "unroll-count": 4,
    "inline-threshold": 100,
    "memdep-block-scan-limit": 7,
    "licm-max-num-uses-traversed": 9,
    "cfg-func-name": "main",
}
_LOOKUPS = {
    "by_name": 'get<unsigned>("unroll-count")',
    "string_by_name": 'get<std::string>("cfg-func-name")',
}


def main() -> int:
    context = OptionContext(_VALUES)
    report = Report("Lookups and scopes from C++")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lookups.so"
        compile_cpp("lookups.cpp", file, "-std=c++17", "-shared", "-fPIC", f"-I{get_include()}")
        library = ctypes.CDLL(str(file))
    print("\nnanoseconds for one lookup, inside a context of five overrides")
    names = spread(_repeats(library, "map_of_names"))
    report.line("std::unordered_map of 2,596 names (baseline)", names.text(1, 1))
    with context:
        inside = {name: spread(_repeats(library, name)) for name in _LOOKUPS}
    for name, title in _LOOKUPS.items():
        report.line(title, inside[name].text(1, 1))
    report.line("Python's ctx.get(name, int) (baseline)", _python(lambda: context.get("unroll-count", int)))
    print("\nnanoseconds of processor time for entering and leaving a scope")
    report.line(
        "Python's `with context: pass` (baseline)", _python(lambda: _python_scope(context), time.thread_time)
    )
    prepared = spread(_repeats(library, "scope_prepared"))
    report.line("Scope scope(context)", prepared.text(1, 0))
    report.line(
        'Scope scope{{"unroll-count", "8"}}',
        spread(_repeats(library, "scope_of_text", _TEXT_LOOPS)).text(1, 0),
    )
    report.target("a scope of a prepared context, median", prepared.median, _SCOPE_LIMIT, " ns")
    report.target("by name, median", inside["by_name"].median, _NAME_LIMIT, " ns")
    return report.end()


def _repeats(library: ctypes.CDLL, name: str, loops: int = _LOOPS) -> list[float]:
    function = library[name]
    function.argtypes, function.restype = (ctypes.c_uint64,), ctypes.c_double
    return [function(loops) for _ in range(_REPEATS)]


def _python_scope(context: OptionContext) -> None:
    with context:
        pass


def _python(lookup: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> str:
    timer = timeit.Timer(lookup, timer=clock)
    return spread([timer.timeit(_PYTHON_LOOPS) / _PYTHON_LOOPS * 1e9 for _ in range(_REPEATS)]).text(1, 0)


if __name__ == "__main__":
    sys.exit(main())
