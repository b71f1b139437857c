"""Print a script with which a shell completes commands, arguments, files and the names of LLVM's options.
Needs shtab: pip install 'optctx[completion]'.

    optctx completion bash > ~/.local/share/bash-completion/completions/optctx
    optctx completion zsh > ~/.zfunc/_optctx
    optctx completion fish > ~/.config/fish/completions/optctx.fish
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optctx import registry
from optctx.errors import OptctxError
from optctx.lab.command.console import put
from optctx.lab.command.groups import Out
from optctx.lab.settings import Completes, argument, group

SHELLS = ("bash", "zsh", "fish")
_WORD = re.compile(r"[\w-]+")  # nothing that a shell, or a specification of zsh's, acts on

_BASH = """
_optctx_llvm_options="{names}"
_optctx_option() {{ compgen -W "$_optctx_llvm_options" -- "$1"; }}
_optctx_setting() {{ compgen -W "$_optctx_llvm_options" -S = -- "$1"; }}
_optctx_file() {{ compgen -f -- "$1"; }}
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
_optctx_option() {{ compadd -a _optctx_llvm_options }}
_optctx_setting() {{ compadd -S = -a _optctx_llvm_options }}
_optctx_file() {{ _files "$@" }}
"""
_FISH = """
set -g _optctx_llvm_options {names}
function _optctx_option; printf '%s\\n' $_optctx_llvm_options; end
function _optctx_setting; printf '%s=\\n' $_optctx_llvm_options; end
function _optctx_file; complete -C "'' "(commandline -ct); end
"""
_PREAMBLES = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@dataclass(frozen=True)
class Arguments:
    """What `optctx completion` takes."""

    shell: str = argument("bash, zsh or fish", choices=SHELLS)
    out: Out = group(Out, "format", "sort", "top")


def run(given: Arguments) -> None:
    """Print the script. Raises OptctxError without shtab, and UnsupportedImageError without LLVM."""
    from optctx.lab.command.main import make_parser

    try:
        import shtab
    except ImportError:
        raise OptctxError(
            f"cannot make a completion script: shtab is not installed; {sys.executable} -m pip install shtab"
        ) from None
    parser, commands = make_parser()
    preamble = _PREAMBLES[given.shell].format(names=" ".join(registry()))
    for command in commands.choices.values():
        for each in command.arguments:
            if what := getattr(each, "completes", ""):
                each.complete = _completion(what)  # type: ignore[attr-defined]  # where shtab looks
            if isinstance(each.metavar, str):  # which zsh would read as code
                each.metavar = re.sub(r"\W.*", "", each.metavar)
    script = shtab.complete(parser, given.shell, preamble=preamble)
    if given.shell == "bash":
        script += _BASH_END.format(own=_function_of(script))
    put(script)


def _function_of(script: str) -> str:
    """The function that shtab's script registers with bash."""
    found = re.search(r"^complete .*-F (\S+) optctx$", script, re.MULTILINE)
    if found is None:
        raise OptctxError("cannot make a completion script: this shtab writes another form; install 1.13")
    return found[1]


def _completion(what: Completes) -> Mapping[str, Any]:
    """What shtab takes for an argument."""
    if isinstance(what, str):
        function = f"_optctx_{what}"
        return {"bash": function, "zsh": function, "fish": f"({function})"}
    assert all(map(_WORD.fullmatch, what)), what
    listed = " ".join(what)
    function = f"_optctx_words_{'_'.join(what).replace('-', '_')}"
    body = f'{function}() {{ compgen -W "{listed}" -- "$1"; }}'
    return {"bash": function, "zsh": f"({listed})", "fish": listed, "preamble": {"bash": body}}
