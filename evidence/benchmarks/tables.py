"""What the values of one context take: bytes, and time to make, copy and free them, by number of overrides.

A microbenchmark in C++ with the number of options, libraries and bytes of values that this LLVM has. Compiles
with $CXX, or c++.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from evidence.benchmarks._report import Report, compile_cpp, spread
from evidence.census.readers import Census, take_census

_FORMS = {
    "table": "a slot for each option",
    "blocks": "slots in blocks of 64, shared until written",
    "tree": "a tree of the overrides",
    "structs": "a struct for each library that has one",
    "all-structs": "a struct for each library",
}
_OVERRIDES = (0, 1, 10, 100)
_REPEATS = 9
_ROUNDS = 2000
# Of a field in a struct of options (LibraryOptions.td): a string is a StringRef.
_BYTES = {"bool": 1, "boolOrDefault": 2, "char": 1, "int": 4, "uint": 4, "enum": 4, "float": 4, "string": 16}
_WORD = 8  # every other type


def main() -> int:
    report = Report("Values of a context")
    found = take_census()
    real = [option for option in found.options if not option.facts.alias_of]
    size = (len(real), len({option.library for option in real}), _bytes(found))
    print("\n{:,} options in {} libraries, {:,} bytes of values".format(*size))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "tables")
        compile_cpp("tables.cpp", program)
        for overrides in _OVERRIDES:
            print(f"\n{overrides} overrides: bytes; microseconds to make, to copy, to free (medians)")
            for form, title in _FORMS.items():
                command = [program, form, *size, overrides, _ROUNDS]
                rounds = [_figures(command) for _ in range(_REPEATS)]
                times = (spread([each[i] for each in rounds]).median / 1000 for i in (1, 2, 3))
                report.line(title, f"{rounds[0][0]:9,.0f}  " + "  ".join(f"{time:7.2f}" for time in times))
    return report.end()


def _figures(command: list[object]) -> list[float]:
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True)
    return [float(word) for word in done.stdout.split()]


def _bytes(found: Census) -> int:
    return sum(_BYTES.get(each.facts.type, _WORD) for each in found.options if not each.facts.alias_of)


if __name__ == "__main__":
    sys.exit(main())
