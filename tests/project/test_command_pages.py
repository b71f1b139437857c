"""The generated reference of the command line."""

from __future__ import annotations

import pathlib
import runpy

from optctx.lab.command.main import COMMANDS, make_parser

ROOT = pathlib.Path(__file__).parents[2]


def test_each_command_has_a_page_with_each_of_its_arguments() -> None:
    pages: dict[str, str] = runpy.run_path(str(ROOT / "docs" / "command_pages.py"))["pages"]()
    assert pages.keys() == {*COMMANDS, "index"}
    for name, command in make_parser()[1].choices.items():
        assert f"[{name}]({name}.md)" in pages["index"]
        for argument in command.arguments:
            for flag in argument.option_strings:
                assert f"`{flag}" in pages[name]
        assert f"$ optctx {name}" in pages[name]
        assert "%(" not in pages[name]
