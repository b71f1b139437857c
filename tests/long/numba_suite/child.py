"""One process of the suite: runs tests of Numba's in one mode, and writes what came of each as it ends.

    python child.py MODE FILE NAME...

Does not use optctx where the mode is "stock". NAME: a module, or one test of it, as unittest takes them.
"""

from __future__ import annotations

import contextlib
import json
import sys
import unittest
from typing import Any

MODES = ("stock", "attached", "scope")


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


def inside(mode: str) -> contextlib.AbstractContextManager[object]:
    if mode == "stock":
        return contextlib.nullcontext()
    import optctx

    optctx.attach()
    return optctx.OptionContext() if mode == "scope" else contextlib.nullcontext()


def main(mode: str, path: str, names: list[str]) -> None:
    with open(path, "a") as file, inside(mode):
        unittest.defaultTestLoader.loadTestsFromNames(names).run(Writer(file))
    if mode == "stock":
        assert "optctx._native" not in sys.modules


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
