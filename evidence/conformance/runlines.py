"""Reads RUN lines of LLVM's tests and turns commands of `opt` and `llc` into jobs."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from evidence.conformance.job import Job

NeedsValue = Callable[[str], bool | None]  # of an option's name; None if it is not registered

_RUN = re.compile(r"^[\s;#/]*RUN:\s*(.*)$")
_CONDITION = re.compile(r"%(if|python|\{|\()")
_ARCHITECTURES = {
    "x86": "i386",
    "x86-64": "x86_64",
    "ppc32": "powerpc",
    "ppc64": "powerpc64",
    "ppc64le": "powerpc64le",
    "ppc32le": "powerpcle",
    "systemz": "s390x",
    "arm64": "aarch64",
}
# Options of the tools themselves that change nothing here.
_IGNORED = {
    "S", "f", "disable-output", "verify-each", "disable-verify", "asm-verbose", "o", "filetype",
    "enable-new-pm", "time-trace", "preserve-ll-uselistorder", "load-pass-plugin", "no-integrated-as",
}  # fmt: skip
_WITH_VALUE = {"o", "passes", "p", "mtriple", "march", "mcpu", "mattr", "data-layout", "relocation-model"}
_CODE_MODELS = {"tiny", "small", "kernel", "medium", "large"}
_RELOCATIONS = {"static": "static", "pic": "pic", "dynamic-no-pic": "dynamicnopic"}


class NotApplicableError(Exception):
    """The command is not a compilation that can be done here; the message is the reason, for counting."""


def commands(text: str) -> Iterator[tuple[int, str]]:
    """(line number, command) for the RUN lines, continuations joined."""
    pending, begun = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        found = _RUN.match(line)
        if not found:
            continue
        begun = begun if pending else number
        pending += found[1]
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        yield begun, pending
        pending = ""


def read_jobs(root: Path, folders: Iterable[str], needs_value: NeedsValue) -> tuple[list[Job], Counter[str]]:
    """Every distinct job of the tests in `folders`, and why the other commands are left out."""
    jobs: dict[Job, None] = {}
    left_out: Counter[str] = Counter()
    for folder in folders:
        for path in sorted((root / folder).rglob("*.ll")):
            text = path.read_text(errors="replace")
            for number, command in commands(text):
                for part in command.split("&&"):
                    where = f"{path.relative_to(root)}:{number}"
                    try:
                        job = command_job(part, path, where, needs_value)
                    except NotApplicableError as reason:
                        left_out[str(reason)] += 1
                    else:
                        left_out["the same compilation again"] += job in jobs
                        jobs.setdefault(job)
    return list(jobs), left_out


def command_job(command: str, test: Path, where: str, needs_value: NeedsValue) -> Job:
    """The job of one command. Raises NotApplicableError."""
    command = command.split("|")[0].strip()
    first = command.split(" ", 1)[0]
    if first not in ("opt", "llc"):
        raise NotApplicableError(f"another tool: {first if first in ('not', 'llvm-as') else 'other'}")
    if _CONDITION.search(command):
        raise NotApplicableError("lit's conditions")
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        raise NotApplicableError("quoting") from None
    reading = _Command(first, test, needs_value)
    reading.read(words)
    return reading.job(where)


class _Command:
    """Reads the words of one command."""

    def __init__(self, tool: str, test: Path, needs_value: NeedsValue) -> None:
        self._tool = tool
        self._test = test
        self._needs_value = needs_value
        self._input = ""
        self._options: list[str] = []
        self._features: list[str] = []
        self._tools: dict[str, str] = {}

    def read(self, words: list[str]) -> None:
        rest = iter(words)
        for word in rest:
            if re.fullmatch(r"[12&]?>>?", word):
                next(rest, "")
            elif re.match(r"[12&]?>", word):
                continue
            elif word == "<":
                self._take_input(next(rest, ""))
            elif word.startswith("<"):
                self._take_input(word[1:])
            elif not word.startswith("-") or word == "-":
                self._take_input(word)
            else:
                self._take_option(word, rest)

    def job(self, where: str) -> Job:
        tools = self._tools
        if not self._input:
            raise NotApplicableError("no input file")
        if not self._options:
            raise NotApplicableError("no option of LLVM's own")
        passes = tools.get("passes", tools.get("p", ""))
        if self._tool == "opt" and not passes:
            raise NotApplicableError("opt without -passes")
        return Job(
            self._tool, self._input, passes, tuple(self._options), _triple(tools), tools.get("mcpu", ""),
            ",".join(self._features), tools.get("data-layout", ""), tools.get("target-abi", ""),
            int(tools.get("O", "2")), tools.get("relocation-model", "default"),
            tools.get("code-model", "default"), tools.get("filetype") == "obj", where,
        )  # fmt: skip

    def _take_input(self, word: str) -> None:
        if word == "%s":
            word = str(self._test)
        word = self._substitute(word)
        if self._input or not Path(word).is_file():
            raise NotApplicableError("another input than the test itself")
        self._input = word

    def _substitute(self, word: str) -> str:
        word = word.replace("%S", str(self._test.parent)).replace("%p", str(self._test.parent))
        word = word.replace("%s", str(self._test))
        if "%" in word:
            raise NotApplicableError("lit's substitutions")
        return word

    def _take_option(self, word: str, rest: Iterator[str]) -> None:
        name, equals, value = word.lstrip("-").partition("=")
        level = re.fullmatch(r"O([0-3sz])", name)
        if level:
            self._take_level(level[1])
        elif name in _WITH_VALUE or name in _IGNORED or name in ("O", "code-model", "target-abi"):
            if not equals and name in _WITH_VALUE:
                value = next(rest, "")
            self._take_tool_option(name, value)
        else:
            self._take_llvm_option(word, name, bool(equals), rest)

    def _take_level(self, level: str) -> None:
        if self._tool == "opt":
            self._tools["passes"] = f"default<O{level}>"
        elif level in "0123":
            self._tools["O"] = level
        else:
            raise NotApplicableError("optimisation level")

    def _take_tool_option(self, name: str, value: str) -> None:
        if name == "O":
            self._take_level(value)
            return
        if name == "mattr":
            self._features.append(value)
        if name == "relocation-model":
            if value not in _RELOCATIONS:
                raise NotApplicableError("relocation model")
            value = _RELOCATIONS[value]
        if name == "code-model" and value not in _CODE_MODELS:
            raise NotApplicableError("code model")
        self._tools[name] = value

    def _take_llvm_option(self, word: str, name: str, has_value: bool, rest: Iterator[str]) -> None:
        needs = self._needs_value(name)
        if needs is None:
            raise NotApplicableError("an option that this library does not have")
        if needs and not has_value:
            word = f"{word}={next(rest, '')}"
        self._options.append(self._substitute(word))


def _triple(tools: dict[str, str]) -> str:
    march = tools.get("march", "")
    triple = tools.get("mtriple", "")
    if not march:
        return triple
    rest = triple.split("-", 1)[1] if "-" in triple else "unknown-linux-gnu"
    return f"{_ARCHITECTURES.get(march, march)}-{rest}"
