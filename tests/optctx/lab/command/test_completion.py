"""`optctx completion`: the scripts in real shells: bash, and zsh and fish where they are installed."""

from __future__ import annotations

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import pytest

from optctx import registry
from optctx.lab.command.main import COMMANDS, main
from optctx.lab.tuning.search import PRUNERS, SAMPLERS
from tests.support.processes import SECONDS

BASH = shutil.which("bash") or "/bin/bash"
# Calls the function that `complete` registered as bash does, and prints what it replies, a word on a line.
ASK = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
words=($(complete -p optctx))
for ((at = 0; at < ${#words[@]}; ++at)); do [[ ${words[at]} == -F ]] && function=${words[at + 1]}; done
"$function" optctx "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("completion") / "optctx")
    assert main(["completion", "bash", "-o", path]) == 0
    return path


def replies(script: str, *words: str, folder: pathlib.Path) -> set[str]:
    """What bash would offer for the last word of a line."""
    done = subprocess.run(
        [BASH, "--norc", "-c", ASK, "bash", script, "optctx", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_commands_arguments_names_and_files_are_completed(script: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "kernel.ll").touch()
    (tmp_path / "other.bc").touch()
    names = {name for name in registry() if name.startswith("unroll-")}
    settings = {f"{name}=" for name in names}
    lines: dict[str, set[str]] = {
        "": set(COMMANDS),
        "sw": {"sweep"},
        "record --clang-o": {"--clang-options"},
        "record --format ": {"table", "json", "csv"},
        "tune x.ll --sampler ": set(SAMPLERS),
        "tune x.ll --pruner ": set(PRUNERS),
        "completion ": {"bash", "zsh", "fish"},
        "show unroll-": names,
        "options unroll-": names,
        "rank x.ll --set unroll-": settings,
        "sweep k": {"kernel.ll"},
        "check-link o": {"other.bc"},
    }
    offered = {line: replies(script, *line.split(" "), folder=tmp_path) for line in lines}
    assert offered == lines


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory, script: str) -> dict[str, str]:
    """Shell -> the file of its script."""
    folder = pathlib.Path(script).parent
    for shell, name in (("zsh", "_optctx"), ("fish", "optctx.fish")):
        assert main(["completion", shell, "-o", str(folder / name)]) == 0
    return {"bash": script, "zsh": str(folder / "_optctx"), "fish": str(folder / "optctx.fish")}


SAY = """optctx() { printf '<%s>' "$@"; echo; }; """
BEGIN = {
    "bash": (["--norc", "--noprofile", "-i"], "source 'SCRIPT'\n"),
    "zsh": (["-f", "-i"], "fpath=('FOLDER' $fpath); autoload -U compinit; compinit -u -D\n"),
}


@pytest.mark.parametrize("shell", BEGIN)
def test_a_user_who_presses_tab_gets_the_name_and_goes_on_behind_the_equals_sign(
    shell: str, scripts: dict[str, str], tmp_path: pathlib.Path
) -> None:
    for name in ("my loop.ll", "my-loop.ll", "$(exit).ll"):
        (tmp_path / name).touch()
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    words, begin = BEGIN[shell]
    child, terminal = pty.fork()
    if not child:
        os.environ.update(PS1="> ", TERM="dumb", INPUTRC="/dev/null", HISTFILE="/dev/null")
        os.chdir(tmp_path)
        os.execv(program, [shell, *words])
    try:
        folder = os.path.dirname(scripts[shell])
        begin = begin.replace("SCRIPT", scripts[shell]).replace("FOLDER", folder)
        os.write(terminal, (SAY + begin).encode())
        os.write(terminal, b"optctx record --set unroll-cou\t4 --verb\t\n")
        assert_appears(terminal, b"<record><--set><unroll-count=4><--verbose>")
        os.write(terminal, b"optctx record my\\ \t --load \\$\t\n")
        assert_appears(terminal, b"<record><my loop.ll><--load><$(exit).ll>")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def test_nothing_in_a_placeholder_is_code_for_zsh(scripts: dict[str, str]) -> None:
    """zsh runs the `max` of `NAME[:max]`."""
    specifications = re.findall(r"^ +[\"'{].*", pathlib.Path(scripts["zsh"]).read_text(), re.MULTILINE)
    assert len(specifications) > 50
    assert [each for each in specifications if re.search(r"\]:\w*[\[{(]", each)] == []


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_commands_files_names_and_words(
    scripts: dict[str, str], tmp_path: pathlib.Path
) -> None:
    for name in ("kernel.ll", "my loop.ll", "my-loop.ll", "-n.ll"):
        (tmp_path / name).touch()

    def offered(line: str) -> set[str]:
        command = ["fish", "--no-config", "-c", f"source '{scripts['fish']}'; complete -C '{line}'"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
        assert done.stderr == ""
        return {each.partition("\t")[0] for each in done.stdout.splitlines()}

    assert offered("optctx ") >= set(COMMANDS)
    assert offered("optctx show unroll-cou") == {"unroll-count"}
    assert offered("optctx record kernel.ll --set unroll-cou") == {"unroll-count="}
    assert offered("optctx record kernel.ll --format ") == {"table", "json", "csv"}
    assert offered("optctx record kern") == {"kernel.ll"}
    assert offered("optctx record my\\ ") == {"my loop.ll"}
    assert offered("optctx record --load ") >= {"kernel.ll", "my loop.ll", "my-loop.ll"}


def assert_appears(terminal: int, wanted: bytes) -> None:
    seen = b""
    deadline = time.monotonic() + SECONDS
    while wanted not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"expected {wanted!r}, found {seen[-500:]!r}"
        seen += os.read(terminal, 4096)


def test_without_shtab_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    install = f"{sys.executable} -m pip install shtab"
    assert err == f"optctx: cannot make a completion script: shtab is not installed; {install}\n"
