"""`optctx completion`: prints a script with which a shell completes commands, files and LLVM's options."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError
from optctx.lab.command.console import put
from optctx.values import registry

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]

_SHELLS = ("bash", "zsh")
_FILES = ("file", "files", "plot")
_NAMES = ("name", "pattern", "options", "only", "exclude")
_SETTINGS = ("settings", "tries")

_BASH = """
_optctx_llvm_options="{names}"

_optctx_complete_name() {{
  compgen -W "$_optctx_llvm_options" -- "$1"
}}

_optctx_complete_setting() {{
  compgen -W "$_optctx_llvm_options" -S = -- "$1"
}}
"""
# compopt must run in the function that bash calls, not in a subshell.
_BASH_END = """
_optctx_complete() {{
  {own} "$@"
  [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
  return 0
}}
complete -o bashdefault -F _optctx_complete optctx
"""
_ZSH = """
_optctx_llvm_options=({names})

_optctx_complete_name() {{
  compadd -a _optctx_llvm_options
}}

_optctx_complete_setting() {{
  compadd -S = -a _optctx_llvm_options
}}
"""


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "completion",
        help="print a script for completion in a shell",
        description="Print a script with which a shell completes commands, arguments, files and the names of "
        "LLVM's options. Needs shtab: pip install 'optctx[completion]'.",
        example="optctx completion bash > ~/.local/share/bash-completion/completions/optctx\n"
        "optctx completion zsh > ~/.zfunc/_optctx",
    )
    parser.add_argument("shell", choices=_SHELLS, help="bash or zsh")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script. Raises OptctxError without shtab, and UnsupportedImageError without LLVM."""
    from optctx.lab.command.main import make_parser

    try:
        import shtab
    except ImportError:
        raise OptctxError(
            f"cannot make a completion script: shtab is not installed; {sys.executable} -m pip install shtab"
        ) from None
    parser, commands = make_parser()
    for command in commands.choices.values():
        for action in command.arguments:
            if complete := _completion(action.dest):
                action.complete = complete  # type: ignore[attr-defined]  # where shtab looks
    names = " ".join(registry())
    preamble = _BASH if arguments.shell == "bash" else _ZSH
    script = shtab.complete(parser, arguments.shell, preamble=preamble.format(names=names))
    if arguments.shell == "bash":
        script += _BASH_END.format(own=_function_of(script))
    put(script)
    return 0


def _function_of(script: str) -> str:
    """The function that shtab's script registers with bash."""
    found = re.search(r"^complete .*-F (\S+) optctx$", script, re.MULTILINE)
    if found is None:
        raise OptctxError(
            "cannot make a completion script: this shtab writes another form; install shtab 1.7"
        )
    return found[1]


def _completion(argument: str) -> Mapping[str, Any] | None:
    import shtab

    if argument in _FILES:
        return shtab.FILE
    if argument in _NAMES:
        return dict.fromkeys(_SHELLS, "_optctx_complete_name")
    return dict.fromkeys(_SHELLS, "_optctx_complete_setting") if argument in _SETTINGS else None
