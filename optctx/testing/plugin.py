"""Runs tests inside LLVM options. `plugin_entry`, which pytest finds by itself, registers it on demand."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.testing import MARK


class LlvmOptions:
    """The plugin of one run. Raises pytest.UsageError for a bad option of the run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        words = config.getini(MARK)
        try:
            self._context = OptionContext.from_args(words) if words else None
        except OptctxError as error:
            raise pytest.UsageError(f"{MARK}: {error}") from None

    def context_of(self, item: pytest.Item) -> OptionContext:
        """The context of a test. Fails the test for bad options."""
        return OptionContext.from_args(_words_of(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Run all tests inside the context of the whole run, if there is one."""
        if self._context is None or self._config.pluginmanager.hasplugin("dsession"):  # or other processes do
            return (yield)
        with self._context:
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)  # inside of what captures
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run the test, not its fixtures, inside the context of its markers and its parameter."""
        if words := _words_of(item):
            with OptionContext.from_args(words, unread="warn"):
                return (yield)
        return (yield)


def _words_of(item: pytest.Item) -> list[str]:
    """What a test's markers give, those of its module first, and then its parameter, as words."""
    words = []
    for mark in reversed(list(item.iter_markers(MARK))):
        words += _read(f"@pytest.mark.{MARK}", mark.args, mark.kwargs)
    call = getattr(item, "callspec", None)
    if call is not None and (parameter := call.params.get(MARK)):
        words += _read(f"the parameter of {MARK}", (parameter,), {})
    return words


def _read(place: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> list[str]:
    """Read one command line or its words, and keywords. Fails the test with one line."""
    try:
        first = OptionContext.from_args(given[0] if len(given) == 1 else given, base="defaults")
        # The other parameters of a context are the plugin's: here they are a TypeError.
        return first.args() + OptionContext(base="defaults", unread="ignore", image=None, **named).args()
    except (OptctxError, TypeError) as error:
        raise pytest.fail.Exception(f"{place}: {error}", pytrace=False) from None
