"""How long the first use takes, and how much memory, in fresh processes.

The library's own import is the baseline.
"""

from __future__ import annotations

import json
import sys

from benchmarks._report import Report, fresh_output, spread

_REPEATS = 15
_LIMIT = 0.6  # seconds
_RESIDENT, _PRIVATE = 60.0, 20.0  # MiB

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

# What attaching adds, in MiB: resident memory, and what no other process could share of it.
_MEMORY = """
import json
import llvmlite.binding
import optctx

def memory():
    with open("/proc/self/smaps_rollup") as rollup:
        lines = [line.split() for line in rollup]
    sizes = {line[0]: int(line[1]) / 1024 for line in lines[1:]}
    return sizes["Rss:"], sizes["Anonymous:"]

before = memory()
optctx.attach()
print(json.dumps([now - was for now, was in zip(memory(), before)]))
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
    memory = [json.loads(fresh_output(_MEMORY)) for _ in range(3)]
    for what, limit, sizes in zip(
        ("resident", "private"), (_RESIDENT, _PRIVATE), zip(*memory, strict=True), strict=True
    ):
        report.target(f"memory of attaching, {what}, median", spread(sizes).median, limit, " MiB")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
