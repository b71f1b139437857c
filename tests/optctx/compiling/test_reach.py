"""The experiment that tells what a scope reaches finds a scope that reaches more, or nothing."""

from contextlib import nullcontext
from typing import Any

import pytest
from llvmlite import binding

from optctx.compiling import reach
from optctx.engine.host import default_host
from tests.support.alone import alone


def _reaches() -> str:
    return reach.scope_reaches(default_host().image().path)


def _set_for_the_process(options: dict[str, Any], image: object) -> nullcontext[None]:
    for name, value in options.items():
        binding.set_option("", f"-{name}={value}")
    return nullcontext()


@alone
def test_what_reaches_every_thread_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "OptionContext", _set_for_the_process)
    assert _reaches() == "process"


def test_what_cannot_be_told_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such file" in reach.scope_reaches("/usr/lib/another.so")
    monkeypatch.setattr(reach, "OptionContext", lambda _, image: nullcontext())
    assert _reaches() == "unknown: -unroll-count=4 changed nothing where it was set"
