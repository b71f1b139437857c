"""Runs tests inside LLVM options. `plugin_entry`, which pytest finds by itself, registers it on demand."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.testing import MARK

_WORDS = pytest.StashKey[list[str]]()  # of a test whose fixture `llvm_options` has a parameter


class LlvmOptions:
    """The plugin of one run. Raises pytest.UsageError, which says where a bad option of the run was given."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._context = self._whole_run()

    def _whole_run(self) -> OptionContext | None:
        words: list[str] = []
        places = [(f"{MARK} in {self._config.inipath}", self._config.getini(MARK))]
        places += [("--llvm-options", line) for line in self._config.getoption("llvm_options")]
        for place, given in places:
            try:
                words += OptionContext.from_args(given, base="defaults").args() if given else []
            except OptctxError as error:
                raise pytest.UsageError(f"{place}: {error}") from None
        return OptionContext.from_args(words) if words else None

    def context_of(self, item: pytest.Item, parameter: object) -> OptionContext:
        """The context of a test with this parameter of its fixture. Fails the test for bad options."""
        words = _marked(item)
        if parameter:
            words += _read(item, f"the parameter of {MARK}", (parameter,), {})
            item.stash[_WORDS] = words
        return OptionContext.from_args(words)

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
        words = item.stash.get(_WORDS, None) or _marked(item)
        if not words:
            return (yield)
        with OptionContext.from_args(words, unread="warn"):
            return (yield)


def _marked(item: pytest.Item) -> list[str]:
    """What the markers of a test give, as words: those of its module, of its class, then its own."""
    marks = reversed(list(item.iter_markers(MARK)))
    return [word for mark in marks for word in _read(item, f"@pytest.mark.{MARK}", mark.args, mark.kwargs)]


def _read(item: pytest.Item, place: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> list[str]:
    """Read one command line, its words, or a mapping, and keywords. Fails the test with one line."""
    is_text = bool(given) and all(isinstance(each, str) for each in given)
    try:
        if is_text:
            first = OptionContext.from_args(given[0] if len(given) == 1 else given, base="defaults")
        else:
            first = OptionContext(*given, base="defaults")
        # The other parameters of a context are the plugin's: here they are a TypeError.
        return first.args() + OptionContext(base="defaults", unread="ignore", image=None, **named).args()
    except (OptctxError, TypeError) as error:
        path, line, name = item.reportinfo()
        where = f"{path}:{(line or 0) + 1}: {name}"
        raise pytest.fail.Exception(f"{where}: {place}: {error}", pytrace=False) from None
