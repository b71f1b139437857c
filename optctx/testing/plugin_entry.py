"""What pytest imports in every run where optctx is installed: nothing of LLVM, and next to nothing of optctx.

`optctx.testing.plugin` does the work. It is registered once the configuration, a marker or a fixture asks for
options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from optctx.testing import MARK

if TYPE_CHECKING:
    from optctx import OptionContext
    from optctx.testing.plugin import LlvmOptions

_NAME = "optctx_llvm_options"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add a setting to the configuration, which `-o` overrides."""
    parser.addini(MARK, "LLVM options for every test, as on a command line", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Check the options of the whole run, if there are any, before a test is collected."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(*arguments, **options): run the test inside an optctx.OptionContext of these, such as "
        '"-unroll-count=4" or unroll_count=4; several add up, and for one option the innermost counts',
    )
    if config.getini(MARK):
        _begin(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Load what runs tests inside options, if one of the tests asks for it."""
    if any(MARK in getattr(item, "fixturenames", ()) or item.get_closest_marker(MARK) for item in items):
        _begin(config)


def _begin(config: pytest.Config) -> LlvmOptions:
    plugin: LlvmOptions | None = config.pluginmanager.get_plugin(_NAME)
    if plugin is None:
        try:
            from optctx.testing.plugin import LlvmOptions
        except ImportError as error:  # where optctx cannot run
            raise pytest.UsageError(f"cannot run tests inside LLVM options: {error}") from None
        plugin = LlvmOptions(config)
        config.pluginmanager.register(plugin, _NAME)
    return plugin


@pytest.fixture
def llvm_options(request: pytest.FixtureRequest) -> OptionContext:
    """The OptionContext that the test runs in: the options of its markers and of the whole run.

    Parametrized with `indirect=True`, each parameter is a command line on top of these.
    """
    return _begin(request.config).context_of(request.node)
