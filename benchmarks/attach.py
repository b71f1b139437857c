"""How long the first use takes, in fresh processes; the library's own import is the baseline."""

from __future__ import annotations

import json
import sys

from benchmarks._report import Report, fresh_output, spread

_REPEATS = 15
_LIMIT = 0.6  # seconds

_FRESH = """
import json, time
clock = time.perf_counter
start = clock()
import llvmlite.binding
library = clock()
import optctx
package = clock()
processor = time.process_time()
optctx.OptionContext({"unroll-count": 4})
used = clock()
processor = time.process_time() - processor
optctx.OptionContext({"unroll-count": 5})
again = clock()
print(json.dumps({
    "import llvmlite.binding (baseline)": library - start,
    "import optctx": package - library,
    "first use": used - package,
    "first use, processor time": processor,
    "second use": again - used,
    "parts": optctx.info()["images"][0]["seconds"],
}))
"""


_WITH_CAPSTONE = 'import sys\nsys.modules["iced_x86"] = None\n' + _FRESH


def main() -> int:
    report = Report("Attaching: the first use in a fresh process, milliseconds")
    for script in (_FRESH, _WITH_CAPSTONE):
        fresh_output(script)  # brings the files into the page cache
    # By turns: what else the machine does meets both.
    pairs = [
        [json.loads(fresh_output(script)) for script in (_FRESH, _WITH_CAPSTONE)] for _ in range(_REPEATS)
    ]
    runs = [run for run, _ in pairs]
    for run in runs:
        run.update({f"  of which {name}": seconds for name, seconds in run.pop("parts").items()})
    for name in runs[0]:
        report.line(name, spread([run[name] for run in runs]).text(1e3, 2))
    for name in ("first use", "first use, processor time"):
        report.line(f"{name}, by capstone", spread([run[name] for _, run in pairs]).text(1e3, 2))
    report.target("first use, median", spread([run["first use"] for run in runs]).median, _LIMIT, " s")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
