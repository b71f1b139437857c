"""Runs tests inside LLVM options. `plugin_entry`, which pytest finds by itself, registers it on demand."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError, UnreadOptionError, UnreadOptionWarning
from optctx.testing.named import INI, MARK, UNREAD

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
        places = [(f"{INI} in {self._config.inipath}", self._config.getini(INI))]
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
            try:
                given = item.stash[_GIVEN] = given.on_top(_read((parameter,), {}))
            except OptctxError as error:
                text = f"{item.nodeid}: the parameter of {MARK}: {error}"
                raise pytest.fail.Exception(text, pytrace=False) from None
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
        with _entered(given.context(), "own" if "unread" in given.settings else self._mode) as unread:
            result = yield
        if unread:
            item.user_properties.append((UNREAD, "; ".join(unread)))
        return result


def _read(given: tuple[Any, ...], named: Mapping[str, Any]) -> _Given:
    """Read arguments, mappings and keywords, as `OptionContext` and its `from_args` take them."""
    settings = {name: value for name, value in named.items() if name in _SETTINGS}
    options = {name: value for name, value in named.items() if name not in _SETTINGS}
    trial: dict[str, Any] = {"base": "defaults", **settings}
    words: list[str] = []
    if given and all(isinstance(each, str) for each in given):
        # One text is a command line, several are its words, as in `from_args`.
        words += OptionContext.from_args(given[0] if len(given) == 1 else given, **trial).args()
    else:
        for each in given:
            made = OptionContext.from_args if isinstance(each, (str, list, tuple)) else OptionContext
            words += made(each, **trial).args()
    return _Given((*words, *OptionContext(**options, **trial).args()), settings)


def _marked(item: pytest.Item) -> _Given | None:
    """What the markers of a test give: those of its module, of its class, then its own. Fails the test for a
    marker that OptionContext refuses.
    """
    found: _Given | None = None
    for mark in reversed(list(item.iter_markers(MARK))):
        try:
            read = _read(mark.args, mark.kwargs)
        except OptctxError as error:
            path, line, name = item.reportinfo()
            given = [*map(repr, mark.args), *(f"{key}={each!r}" for key, each in mark.kwargs.items())]
            where = f"{path}:{(line or 0) + 1}: {name}: @pytest.mark.{MARK}({', '.join(given)})"
            raise pytest.fail.Exception(f"{where}: {error}", pytrace=False) from None
        found = read if found is None else found.on_top(read)
    return found


@contextmanager
def _entered(context: OptionContext, mode: str) -> Iterator[list[str]]:
    """Enter a context. Its end adds what was not read, and why, or raises UnreadOptionError in mode "error".

    A block that fails reports nothing. In mode "own" the context judges itself.
    """
    found: list[str] = []
    if mode in ("ignore", "own"):
        with context:
            yield found
        return
    ended = False
    try:
        with ExitStack() as quiet, context.derive(unread="error"):
            try:
                yield found
            except BaseException:
                quiet.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", UnreadOptionWarning)
                raise
            ended = True
    except UnreadOptionError as error:
        if mode == "error" or not ended:
            raise
        found += error.causes
