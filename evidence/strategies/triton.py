"""Options of the whole process under a lock that equal sets share, and defaults after it: Triton's rules."""

from __future__ import annotations

from evidence.strategies.arguments import split
from evidence.strategies.waiting import WaitingStrategy
from optctx.fresh import Job, Result
from optctx.fresh.job import compile_unchecked
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.registry_reader import read_registry
from optctx.process import add_occurrence, reset_option

__all__ = ["TritonStrategy"]


class TritonStrategy(WaitingStrategy):
    """Equal sets share the registry; another set waits, and none joins the present one while it does.

    The first user of a set gives each option one occurrence, the last one resets these options, to the
    registered defaults and not to what they were before. Options that LLVM does not have are ignored, and so
    are bad values, of which LLVM prints a line. A tool that rewrites the registry (LLD) has it alone: inside
    a scope of its own thread it waits for ever.
    """

    name = "exclusive-triton"
    at_once = False
    source = "Triton, lib/Tools/LLVMOptions.cpp (ScopedLLVMOptions, ExclusiveLLVMOptionAccess)"

    def __init__(self) -> None:
        super().__init__()
        self._options: dict[str, int] = {}  # name -> address
        self._active: dict[str, str] = {}
        self._applied: list[int] = []
        self._users = 0
        self._switches = 0  # scopes that wait to replace the set
        self._tools = 0  # tools that wait
        self._tool = False  # one has the registry

    def __enter__(self) -> TritonStrategy:
        options = read_registry(llvmlite_image()).options
        self._options = {name: option.address for option in options for name in option.names}
        return self

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        wanted = {name: text or "" for name, text in map(split, inside)}
        with self._changed:
            self._wait_until_it_may_enter(wanted)
            if not self._users:
                self._apply(wanted)
            self._users += 1

    def _wait_until_it_may_enter(self, wanted: dict[str, str]) -> None:
        switching = False
        while not self._may_enter(wanted, switching):
            if not switching and not (self._tool or self._tools) and self._active != wanted:
                switching = True
                self._switches += 1
            self.when_waiting()
            self._changed.wait()
        self._switches -= switching

    def _may_enter(self, wanted: dict[str, str], switching: bool) -> bool:
        if self._tool or self._tools:
            return False
        if not self._users:
            return True
        return self._active == wanted and (switching or not self._switches)

    def _leave(self) -> None:
        with self._changed:
            self._users -= 1
            if not self._users:
                self._restore()
            self._wake()

    def _apply(self, wanted: dict[str, str]) -> None:
        for name, text in wanted.items():
            option = self._options.get(name)
            if option is None:
                continue
            reset_option(option)  # passes that ask for the occurrences see one
            if add_occurrence(option, name, text):
                self._applied.append(option)
            else:
                reset_option(option)
        self._active = wanted

    def _restore(self) -> None:
        for option in self._applied:
            reset_option(option)
        self._applied.clear()
        self._active = {}

    def run_tool(self, job: Job) -> Result:
        with self._changed:
            self._tools += 1
            self._wait_while(lambda: self._tool or bool(self._users))
            self._tools -= 1
            self._tool = True
        try:
            return super().run_tool(job)
        finally:
            with self._changed:
                self._tool = False
                self._wake()

    def _compile(self, job: Job) -> Result:
        return compile_unchecked(job)
