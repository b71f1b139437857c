"""One process of the suite: runs tests of Numba's in one mode, and writes what came of each as it ends.

    python child.py MODE FILE SHARE NAME...

Does not import optctx where the mode is "stock". NAME: a module, or one test of it, as unittest takes them.
SHARE of the tests are run, from 0 to 1: the same ones in every mode.
"""

from __future__ import annotations

import contextlib
import json
import sys
import unittest
import zlib
from collections.abc import Iterator
from typing import Any

MODES = ("stock", "attached", "scope", "options")


class Writer(unittest.TestResult):
    """Writes a line of JSON when a test starts, and one when it has ended."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file

    def _write(self, test: Any, outcome: str, why: str = "") -> None:
        self._file.write(json.dumps([test.id(), outcome, why]) + "\n")
        self._file.flush()

    def startTest(self, test: Any) -> None:  # noqa: N802  unittest's name, as those below
        super().startTest(test)
        self._write(test, "started")

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        self._write(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._write(test, "failed", self._exc_info_to_string(err, test))  # type: ignore[attr-defined]

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self.addFailure(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.addFailure(test, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self._write(test, "skipped", reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._write(test, "passed")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self._write(test, "failed", "unexpected success")


def with_options(decorate: Any, ours: Any) -> Any:
    """What stands for one of Numba's decorators: that of optctx.numba, but for what it refuses by name."""

    def decorator(*args: Any, **named: Any) -> Any:
        if named.get("forceobj") or "_target" in named:
            return decorate(*args, **named)
        return ours(*args, options={"unroll-count": 2}, **named)

    return decorator


def use_options() -> None:
    """Have the tests that are loaded from now on decorate with optctx.numba."""
    import numba

    import optctx.numba

    numba.njit = with_options(numba.njit, optctx.numba.njit)
    numba.jit = with_options(numba.jit, optctx.numba.jit)


def inside(mode: str) -> contextlib.AbstractContextManager[object]:
    if mode == "stock":
        return contextlib.nullcontext()
    import optctx

    optctx.attach()
    if mode == "options":
        use_options()
    return optctx.OptionContext() if mode == "scope" else contextlib.nullcontext()


def chosen(tests: unittest.TestSuite, share: float) -> unittest.TestSuite:
    """The share of tests that their names choose."""
    return unittest.TestSuite(test for test in each(tests) if zlib.crc32(test.id().encode()) < share * 2**32)


def each(tests: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def main(mode: str, path: str, share: float, names: list[str]) -> None:
    with open(path, "a") as file, inside(mode):
        chosen(unittest.defaultTestLoader.loadTestsFromNames(names), share).run(Writer(file))
    if mode == "stock":
        assert "optctx" not in sys.modules


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:])
