"""The options that markers give to a test."""

from __future__ import annotations

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError

__all__ = ["GIVEN", "MARK", "asks_for_options", "check_marks", "words_of"]

MARK = "llvm_options"
GIVEN = pytest.StashKey[OptionContext]()  # the context of a test whose fixture `llvm_options` has a parameter
_FIXTURES = {"llvm_options", "llvm_compiler"}


def words_of(node: pytest.Item) -> list[str]:
    """The arguments of the node's markers: those of its module, then those of its class, then its own."""
    marks = list(node.iter_markers(MARK))[::-1]
    return [argument for mark in marks for argument in mark.args]


def asks_for_options(item: pytest.Item) -> bool:
    """Whether a test has a marker, or uses a fixture of this plugin."""
    if next(item.iter_markers(MARK), None) is not None:
        return True
    return not _FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def check_marks(item: pytest.Item) -> None:
    """Raise Collector.CollectError, which names the test, for a marker that LLVM would refuse."""
    for mark in item.iter_markers(MARK):
        try:
            if mark.kwargs:
                raise OptctxError(f'expected arguments such as "-unroll-count=4", found {mark.kwargs!r}')
            OptionContext.from_args(mark.args, base="defaults")
        except OptctxError as error:
            path, line, name = item.reportinfo()
            given = ", ".join(map(repr, mark.args))
            raise pytest.Collector.CollectError(
                f"{path}:{(line or 0) + 1}: {name}: @pytest.mark.{MARK}({given}): {error}"
            ) from None
