"""The pytest plugin: LLVM options for single tests and for whole runs.

pytest imports this module in every run where optctx is installed. It imports neither Hypothesis nor llvmlite,
and attaches to LLVM only if a test, the command line or the configuration asks for options.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.testing.last_line import Witness
from optctx.testing.marked import GIVEN, MARK, asks_for_options, check_marks, words_of
from optctx.testing.unread import MODES, PROPERTY, RunUnread, entered, lines_of

if TYPE_CHECKING:
    from optctx.testing.compiler import Compiler

_WITNESS = pytest.StashKey[Witness]()
_UNREAD = pytest.StashKey[RunUnread]()
_LINE = "llvm_options"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options to the command line and the configuration."""
    group = parser.getgroup("optctx", "LLVM options")
    group.addoption(
        "--llvm-options",
        action="append",
        default=[],
        metavar="OPTIONS",
        help="LLVM options for every test, such as --llvm-options='-unroll-count=4 -enable-gvn-hoist'; they "
        "follow those of the configuration",
    )
    group.addoption(
        "--llvm-unread",
        choices=MODES,
        default="report",
        help="what to do about options of a test that LLVM did not read: list them at the end (default), "
        "fail the test, or nothing",
    )
    parser.addini(_LINE, "LLVM options for every test, as on a command line", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Check the options of the whole run before any test is collected."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(*arguments): run the test inside an optctx.OptionContext of these command-line arguments, "
        'such as "-unroll-count=4"; of several markers the innermost counts',
    )
    config.stash[_UNREAD] = RunUnread()
    _whole_run(config)


def _whole_run(config: pytest.Config) -> OptionContext | None:
    """The context of the whole run. Raises pytest.UsageError, which says where a bad option was given."""
    words: list[str] = []
    places = [(f"{_LINE} in {config.inipath}", config.getini(_LINE))]
    places += [("--llvm-options", line) for line in config.getoption("llvm_options")]
    for place, given in places:
        try:
            words += OptionContext.from_args(given, base="defaults").args() if given else []
        except OptctxError as error:
            raise pytest.UsageError(f"{place}: {error}") from None
    return OptionContext.from_args(words) if words else None


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, object, object]:
    """Report a marker with a bad option as an error in the collection of its file."""
    made = yield
    for item in made if isinstance(made, list) else [made]:
        if isinstance(item, pytest.Item):
            check_marks(item)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Run all tests inside the context of the whole run, if there is one."""
    config = session.config
    if config.pluginmanager.hasplugin("dsession"):  # the tests run in other processes
        return (yield)
    run = _whole_run(config)
    if run is None and not any(map(asks_for_options, session.items)):
        return (yield)
    with Witness() as config.stash[_WITNESS]:
        if run is None:
            return (yield)
        mode = config.getoption("llvm_unread")
        with entered(run, "ignore" if mode == "ignore" else "report") as unread:
            result = yield
        config.stash[_UNREAD].add(unread.arguments)
        return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run the test, not its fixtures, inside the context of its markers and its parameter."""
    context = item.stash.get(GIVEN, None) or _marked(item)
    witness = item.config.stash.get(_WITNESS, None)
    if witness is not None:
        witness.sees(" ".join([item.nodeid, *(context.args() if context is not None else ())]))
    if context is None:
        return (yield)
    with entered(context, item.config.getoption("llvm_unread")) as unread:
        result = yield
    if unread.words:
        item.user_properties.append((PROPERTY, unread.words))
    return result


def _marked(item: pytest.Item) -> OptionContext | None:
    try:
        check_marks(item)  # methods of unittest.TestCase are collected without a hook
    except pytest.Collector.CollectError as error:
        pytest.fail(str(error), pytrace=False)
    words = words_of(item)
    return OptionContext.from_args(words) if words else None


@pytest.fixture
def llvm_options(request: pytest.FixtureRequest) -> OptionContext:
    """The OptionContext that the test runs in: the options of its markers and of the whole run.

    Parametrized with `indirect=True`, each parameter is a command line on top of these.
    """
    parameter = getattr(request, "param", ())
    below = words_of(request.node)
    try:
        own = OptionContext.from_args(parameter, base="defaults").args() if parameter else []
    except OptctxError as error:
        pytest.fail(f"{request.node.nodeid}: the parameter of llvm_options: {error}", pytrace=False)
    context = OptionContext.from_args([*below, *own])
    if own:
        request.node.stash[GIVEN] = context
    return context


@pytest.fixture(scope="session")
def llvm_compiler() -> Iterator[Compiler]:
    """A running `optctx.testing.Compiler`: compiles jobs in fresh processes, where LLVM may die."""
    from optctx.testing.compiler import Compiler

    with Compiler() as compiler:
        yield compiler


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker of pytest-xdist, send the options that LLVM did not read to the controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[MARK] = session.config.stash[_UNREAD].arguments


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """Take the whole run's options that LLVM did not read in one worker of pytest-xdist."""
    arguments = getattr(node, "workeroutput", {}).get(MARK)
    if arguments is not None:
        config: pytest.Config = node.config  # type: ignore[attr-defined]
        config.stash[_UNREAD].add(arguments)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the options that LLVM did not read."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    lines = [f"the whole run: {argument}" for argument in config.stash[_UNREAD].arguments or ()]
    lines += lines_of(reports)
    if lines:
        terminalreporter.section("LLVM options that nothing read")
        for line in lines:
            terminalreporter.line(line)
