"""Runs tests inside LLVM options. `plugin_entry`, which pytest finds by itself, registers it on demand."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError, UnreadOptionError
from optctx.testing.named import MARK, UNREAD

_SETTINGS = ("base", "unread", "image")  # other keywords are options


class _Given(NamedTuple):
    """What markers give to OptionContext: arguments, and its other parameters."""

    words: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}

    def on_top(self, other: _Given) -> _Given:
        """These, and the other ones on top."""
        return _Given((*self.words, *other.words), {**self.settings, **other.settings})

    def context(self) -> OptionContext:
        return OptionContext.from_args(self.words, **self.settings)


_GIVEN = pytest.StashKey[_Given]()  # of a test whose fixture `llvm_options` has a parameter


class LlvmOptions:
    """The plugin of one run. Raises pytest.UsageError, which says where a bad option of the run was given."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._mode: str = config.getoption("llvm_unread")
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
        given = _marked(item) or _Given()
        if parameter:
            given = item.stash[_GIVEN] = given.on_top(
                _read(item, f"the parameter of {MARK}", (parameter,), {})
            )
        return given.context()

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
        given = item.stash.get(_GIVEN, None) or _marked(item)
        if given is None:
            return (yield)
        context, mode = given.context(), self._mode
        if "unread" in given.settings:
            mode = "ignore"  # here: the context judges itself
        if mode != "ignore":
            context = context.derive(unread="error")
        ended = False
        try:
            with context:
                result = yield
                ended = True
        except UnreadOptionError as error:
            if mode != "report" or not ended:
                raise
            item.user_properties.append((UNREAD, "; ".join(error.causes)))
        return result


def _marked(item: pytest.Item) -> _Given | None:
    """What the markers of a test give: those of its module, of its class, then its own."""
    found: _Given | None = None
    for mark in reversed(list(item.iter_markers(MARK))):
        read = _read(item, f"@pytest.mark.{MARK}", mark.args, mark.kwargs)
        found = read if found is None else found.on_top(read)
    return found


def _read(item: pytest.Item, place: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> _Given:
    """Read one command line, its words, or a mapping, and keywords. Fails the test with one line."""
    settings = {name: value for name, value in named.items() if name in _SETTINGS}
    options = {name: value for name, value in named.items() if name not in _SETTINGS}
    trial: dict[str, Any] = {"base": "defaults", **settings}
    try:
        if given and all(isinstance(each, str) for each in given):
            first = OptionContext.from_args(given[0] if len(given) == 1 else given, **trial)
        else:
            first = OptionContext(*given, **trial)
        return _Given((*first.args(), *OptionContext(**options, **trial).args()), settings)
    except (OptctxError, TypeError) as error:
        path, line, name = item.reportinfo()
        where = f"{path}:{(line or 0) + 1}: {name}"
        raise pytest.fail.Exception(f"{where}: {place}: {error}", pytrace=False) from None
