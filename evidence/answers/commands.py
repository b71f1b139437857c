"""Finds the commands on the pages, and has each parsed by the program that it is for."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Final

from evidence.benchmarks.__main__ import ALL as BENCHMARKS
from evidence.main import make_parser as make_evidence_parser
from optctx.errors import OptctxError
from optctx.lab.command.main import parse as parse_optctx

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = tuple(sorted((ROOT / "design" / "upstream").glob("*.md")))
_CODE = re.compile(r"^```\w*\n(?P<block>.*?)^```$|(?<!`)`(?P<span>[^`]+)`(?!`)", re.DOTALL | re.MULTILINE)
_PROGRAM = re.compile(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:optctx|python -[mc]|make) ")
_FILE = re.compile(r"\.(?:ll|bc|json|md|tsv|csv|td)$")
# Arguments by which a command names a file that it writes, in all of the programs.
_WRITES = {"-o", "--json", "--list", "--faults", "--without", "--output", "--plot", ">"}


class CommandError(Exception):
    """The program does not take the command; the message says why."""


@dataclass(frozen=True)
class Command:
    """A command as a page has it. `words`: without variables of the environment and redirection."""

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        """The program and its arguments."""
        words = [word for word in shlex.split(self.text) if not re.match(r"[A-Z_]+=", word)]
        return words[: words.index(">")] if ">" in words else words

    @property
    def writes(self) -> set[str]:
        """The files that it makes."""
        words = shlex.split(self.text)
        return {file for flag, file in pairwise(words) if flag in _WRITES}

    @property
    def reads(self) -> set[str]:
        """The files that it names otherwise."""
        return {word for word in self.words if _FILE.search(word)} - self.writes


def commands(pages: Sequence[Path] = PAGES) -> list[Command]:
    """Every command on the pages, each once, in their order."""
    found: dict[str, Command] = {}
    for page in pages:
        for text in _texts(page.read_text(encoding="utf-8")):
            found.setdefault(text, Command(page.name, text))
    return list(found.values())


def _texts(page: str) -> Iterator[str]:
    for code in _CODE.finditer(page):
        lines = (
            (code["block"] or "").splitlines() if code["span"] is None else [" ".join(code["span"].split())]
        )
        for line in lines:
            if _PROGRAM.match(line):
                yield line.removeprefix("$ ").split("  #")[0].strip()


def check(command: Command, made: set[str]) -> None:
    """Have the command's program parse it. `made`: files that commands of the pages write.

    Raises CommandError for an argument that the program does not have, and for a file that does not exist.
    """
    words = command.words
    _check_files(command.reads, made)
    if words[0] == "optctx":
        _check_optctx(words[1:], made)
    elif words[1] == "-c":
        _check_text(words[2])
    elif words[0] == "make":
        _check_make(shlex.split(command.text)[1:])
    elif words[2] == "evidence":
        _check_evidence(words[3:], made)
    elif words[2] == "evidence.benchmarks":
        _check_names(words[3:], BENCHMARKS, "benchmark")
    elif (single := words[2].removeprefix("evidence.benchmarks.")) != words[2]:
        _check_names([single], BENCHMARKS, "benchmark")
        _check_names(words[3:], (), "argument of a benchmark")
    else:
        _check_module(words[2], words[3:])


def _check_files(names: Iterable[str], made: set[str]) -> None:
    missing = [name for name in sorted(names) if name not in made and not (ROOT / name).is_file()]
    if missing:
        raise CommandError(f"{', '.join(missing)}: no such file, and no command of the pages makes it")


def _check_text(text: str) -> None:
    try:
        compile(text, "a command", "exec")
    except SyntaxError as error:
        raise CommandError(f"{text}: {error}") from error


def _check_optctx(words: Sequence[str], made: set[str]) -> None:
    try:
        _check_given(parse_optctx(words), made)
    except OptctxError as error:
        raise CommandError(str(error)) from error


def _check_evidence(words: Sequence[str], made: set[str]) -> None:
    try:
        _check_given(make_evidence_parser().parse_args(list(words)), made)
    except OptctxError as error:
        raise CommandError(str(error)) from error


def _check_given(given: argparse.Namespace, made: set[str]) -> None:
    _check_files([given.file] if "file" in given else getattr(given, "files", ()), made)


def _check_module(module: str, words: Sequence[str]) -> None:
    parser = _parser(module)

    def refuse(message: str) -> None:
        raise CommandError(f"{module}: {message}")

    parser.error = refuse  # type: ignore[assignment,method-assign]
    parser.parse_args(list(words))


def _parser(program: str) -> argparse.ArgumentParser:
    """That of a module, or of a folder's command."""
    for name in (program, f"{program}.main", f"{program}.__main__"):
        with suppress(ModuleNotFoundError):
            module = import_module(name)
            if hasattr(module, "make_parser"):
                parser: argparse.ArgumentParser = module.make_parser()
                return parser
    raise CommandError(f"{program}: no such program")


def _check_make(words: Sequence[str]) -> None:
    rules = (ROOT / "Makefile").read_text()
    targets = [word for word in words if "=" not in word]
    _check_names(targets, re.findall(r"^([\w-]+):", rules, re.MULTILINE), "target of the Makefile")
    variables = [word.split("=", 1)[0] for word in words if "=" in word]
    _check_names(variables, re.findall(r"\$\((\w+)\)", rules), "variable of the Makefile")


def _check_names(names: Sequence[str], known: Sequence[str], what: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CommandError(f"no {what} is called {', '.join(unknown)}")
