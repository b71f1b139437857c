"""What hostile input of a megabyte costs before it is refused, beside what LLVM takes to read that module."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from llvmlite import binding

import optctx
from evidence.benchmarks._report import Report, spread
from optctx import OptctxError, OptionContext

SIZE = 1 << 20  # bytes
REPEATS = 7
LIMIT = 50.0  # ms

FUNCTION = "define void @f() {} {{ ret void }}"
ATTRIBUTES = {
    "one long word": "-" + "a" * SIZE,
    "quotes": "'" + "\\22" * (SIZE // 3),
    "many options": "-unroll-count=3 " * (SIZE // 16),
    "a long number": "-unroll-count=" + "0" * SIZE,
}
STAMPS = {
    "one long text": ['!"unroll-count", !"' + "a" * SIZE + '"'],
    "many texts": ['!"unroll-count"' + ', !"3"' * (1 << 17)],
    "many options": [f'!"x{number}", !"3"' for number in range(1 << 16)],
}


def main() -> int:
    report = Report("Refusing hostile modules of a megabyte")
    optctx.attach(attributes="error")
    OptionContext.from_args("-unroll-count=2")
    for name, text in ATTRIBUTES.items():
        module = FUNCTION.format(f'"optctx"="{text}"')
        measure(report, f"attribute: {name}", module, lambda parsed: optctx.run_passes(parsed, "globaldce"))
    for name, nodes in STAMPS.items():
        numbers = ", ".join(f"!{number}" for number in range(1, len(nodes) + 1))
        lines = [f"!{number} = !{{{node}}}" for number, node in enumerate(nodes, 1)]
        stamp = "\n".join(["!optctx.options = !{!0}", f'!0 = !{{!"1", !"m", {numbers}}}', *lines])
        measure(report, f"stamp: {name}", FUNCTION.format("") + "\n" + stamp, OptionContext.from_module)
    return report.end()


def measure(report: Report, name: str, text: str, work: Callable[[binding.ModuleRef], object]) -> None:
    with binding.create_context() as own:
        begin = time.perf_counter()
        module = binding.parse_assembly(text, own)
        reading = time.perf_counter() - begin
        found = []
        with module:
            for _ in range(REPEATS):
                begin = time.perf_counter()
                try:
                    work(module)
                except OptctxError:
                    found.append(time.perf_counter() - begin)
                else:
                    raise AssertionError(f"{name} was not refused")
    seen = spread(found)
    report.line(name, f"{seen.text(1000)} ms; LLVM reads the module in {reading * 1000:.1f} ms")
    report.target(f"{name}, at most", seen.median * 1000, LIMIT, " ms")


if __name__ == "__main__":
    sys.exit(main())
