"""What an earlier version of this package has pickled, fingerprinted and cached means the same.

`python -m tests.promises.test_kept` writes the data anew. That is right where what contexts mean changes on
purpose, and the changelog says so: what users have kept is of no use then.
"""

from __future__ import annotations

import base64
import json
import pathlib
import pickle
import random
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from optctx import CompileCache, OptionContext, record, registry
from optctx.compiling import Job, compile_job, initialise_targets
from tests.support.ir_texts import SCALE, X86

pytestmark = [pytest.mark.llvm22, pytest.mark.usefixtures("attached")]

FILE = pathlib.Path(__file__).parents[1] / "programs" / "kept_contexts.json"
COUNT = 60

# Read by the compilation, with values that LLVM compiles under.
READ: dict[str, tuple[object, ...]] = {
    "unroll-count": (0, 1, 2, 4, 8),
    "inline-threshold": (-1, 0, 225, 1000),
    "force-vector-width": (1, 4, 8),
    "vectorize-loops": (True, False),
    "x86-asm-syntax": ("att", "intel"),
    "min-jump-table-entries": (2, 4, 100),
    "slp-threshold": (-5, 0, 5),
    "enable-gvn-hoist": (True, False),
    "regalloc": ("basic", "greedy"),
    "align-all-functions": (0, 4),
    "hot-callsite-threshold": (1, 3000),
}
# Of every other type and storage that contexts can hold; nothing reads them here.
UNREAD: dict[str, tuple[object, ...]] = {
    "arm-parallel-dsp-load-limit": (3, 16),
    "force-attribute": (["f:cold"], ["f:cold", "g:noinline"]),
    "asan-memory-access-callback-prefix": ("", "p" * 40, "ü "),
    "hexagon-initial-cfg-cleanup": (True, False),
    "mips32-function-mask": ("ab.", ""),
    "internalize-public-api-list": (["f", "g"], []),
}


def contexts() -> Iterator[OptionContext]:
    """Equal ones in every process."""
    dice = random.Random(44)

    def some(options: dict[str, tuple[object, ...]], most: int) -> dict[str, object]:
        names = dice.sample(sorted(options), dice.randint(0, most))
        return {name: dice.choice(options[name]) for name in names}

    for number in range(COUNT):
        options = some(READ, 4) | some(UNREAD, 2)
        if number % 10:
            yield OptionContext(options, base="defaults")
            continue
        outer = OptionContext(options, base="defaults")
        yield OptionContext(some(READ, 2), base=outer)


def meaning(context: OptionContext) -> dict[str, Any]:
    """Its command line, the fingerprint of a compilation under it, and the files of a cache after that."""
    with tempfile.TemporaryDirectory() as folder:
        cache = CompileCache(folder)
        with context, record() as log:
            assert compile_job(Job(SCALE, triple=X86)).error is None
        with context:
            cache.compile(SCALE, triple=X86)
        entries = sorted(
            str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file()
        )
    return {"args": context.args(), "fingerprint": log.fingerprint(), "entries": entries}


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_pickles_fingerprints_and_entries_of_caches_mean_what_they_did(step: int) -> None:
    kept = json.loads(FILE.read_text())
    assert len(kept) == COUNT
    for number, (each, expected) in enumerate(zip(kept, contexts(), strict=True)):
        found = pickle.loads(base64.b85decode(each.pop("pickle")))
        assert (found, hash(found)) == (expected, hash(expected))
        assert found.args() == expected.args() == each["args"]
        if number % step == 0:
            assert meaning(found) == each


def main() -> None:
    initialise_targets()
    assert registry()
    kept = [{"pickle": base64.b85encode(pickle.dumps(each)).decode(), **meaning(each)} for each in contexts()]
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in kept)
    FILE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
