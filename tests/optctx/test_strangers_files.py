"""Files that other people made: one clear error, soon, that names the file, the place and what is there."""

from __future__ import annotations

import functools
import pathlib
import resource
import signal
from collections.abc import Callable, Sequence

import msgspec
import pytest

import optctx
from optctx import OptionContext
from optctx.children.messages import address_space
from optctx.compiling.facts import facts, load_facts
from optctx.errors import OptctxError
from optctx.lab.command.inputs import read_file
from optctx.lab.command.options_command import MOST_BYTES
from tests.support.processes import SECONDS, in_child

MEMORY = 2 << 30  # bytes, of which it takes a small part

DIGITS = "9" * 900_000
DEEP = "[" * 100_000 + "]" * 100_000


def refused_all(works: Sequence[tuple[Callable[[], object], str]]) -> None:
    """Have a child do each work, which has to end soon with one OptctxError of one short line."""

    def task() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_AS, (address_space() + MEMORY, hard))
        for work, words in works:
            signal.alarm(int(SECONDS))  # its default action ends a child that hangs in SQLite, too
            with pytest.raises(OptctxError, match=words) as caught:
                work()
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 1000

    in_child(task)


TOML = {
    f"x = {DIGITS}": "a number with too many digits",
    "x = [1, {y = 1e400}]": "found something else",
    f"x = {'[' * 100_000}": "nests too deeply",
    f"x.{'a.' * 300_000}b = 1": "keys of at most 32 parts, found more in line 2",
    f"[options]\nx = {'[' * 40}{']' * 40}": "expected a list of texts for 'x'",
}


def test_what_no_file_of_options_holds_is_refused(tmp_path: pathlib.Path) -> None:
    optctx.attach()
    works: list[tuple[Callable[[], object], str]] = []
    for number, (text, words) in enumerate(TOML.items()):
        file = tmp_path / f"{number}.toml"
        options = "" if "[options]" in text else "[options]\n"
        file.write_text(f"format = 1\n{text}\n{options}")
        works.append(
            (functools.partial(OptionContext.load, file), rf"cannot read '.*{number}\.toml': .*{words}")
        )
    refused_all(works)


def test_facts_have_numbers_that_python_holds_and_are_read_to_an_end() -> None:
    text = msgspec.json.encode(facts().only(lambda option: option.name == "unroll-count")).decode()
    works: list[tuple[Callable[[], object], str]] = [
        (
            functools.partial(
                load_facts, text.replace('"default":0', f'"default":{odd}').encode(), "old.json"
            ),
            "cannot use old.json as LLVM's options: ",
        )
        for odd in (DIGITS, "1e400", "NaN", DEEP)
    ]
    endless = "cannot use /dev/zero: expected options as JSON of at most 67,108,864 bytes, found more"
    works.append((functools.partial(read_file, "/dev/zero", "options as JSON", MOST_BYTES), endless))
    refused_all(works)
