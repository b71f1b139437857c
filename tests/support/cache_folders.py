"""Compile caches in folders, and files there that were changed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from optctx import CacheWarning, CompileCache, OptionContext
from optctx.store import TAG_SIZE
from tests.support.ir_texts import COUNTED, UNROLL, X86


def unrolled(cache: CompileCache, source: Any = COUNTED) -> int:
    return (cache.compile(source, UNROLL, triple=X86, emit="ir").ir or "").count("store volatile")


def unrolled_by_four(cache: CompileCache) -> int:
    with OptionContext({"unroll-count": 4}):
        return unrolled(cache)


def counts(cache: CompileCache) -> tuple[int, int]:
    return cache.hits, cache.misses


@contextmanager
def warned() -> Iterator[list[str]]:
    """Collects the texts of all warnings, which must be those of a cache."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    assert all(each.category is CacheWarning for each in caught)
    assert all(Path(__file__).parents[1] in Path(each.filename).parents for each in caught), (
        "a warning points at the caller's line"
    )
    texts += [str(each.message) for each in caught]


def filled(folder: Path) -> tuple[Path, Path]:
    """The files of what was read and of the result, in a folder that has these two entries."""
    cache = CompileCache(folder)
    assert [unrolled_by_four(cache), counts(cache)] == [4, (0, 1)]
    reads, result = sorted(folder.iterdir(), key=lambda path: path.read_bytes()[TAG_SIZE] < 2)
    return reads, result


def missed(folder: Path) -> str:
    """Compile twice; what was found is a miss and is replaced. Return the warning."""
    cache = CompileCache(folder)
    with warned() as texts:
        assert [unrolled_by_four(cache), unrolled_by_four(cache)] == [4, 4]
    assert counts(cache) == (1, 1), folder
    (text,) = texts
    return text
