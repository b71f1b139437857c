"""LLVM main's own proposal, modelled: values in the LLVMContext, for readers that can reach one."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, Literal, NamedTuple

from evidence.reads.contexts import reaches_in
from evidence.strategies.reach import Reach
from evidence.strategies.scoped import LlvmContextStrategy
from optctx._native import demangle
from optctx.arch.processor import Site
from optctx.engine.attach import attached
from optctx.errors import OptctxError

__all__ = ["CONTEXTS", "LibraryDefaultsStrategy", "LibraryOptionsStrategy", "ReadSites", "has_context"]

# From these LLVM main reaches an LLVMContext, or the options that one has left in MCTargetOptions.
CONTEXTS = frozenset({"Function", "Module", "MachineFunction", "LLVMContext", "MCContext"})


class ReadSites(NamedTuple):
    """In this process: instructions that refer to options, by whether their function has a context."""

    with_context: int
    without: int


class LibraryOptionsStrategy(LlvmContextStrategy):
    """Every option is in its library's struct, each LLVMContext has structs of its own, readers ask theirs.

    A reader is a function of this LLVM as it is. It has a context if one follows from its parameters or its
    own object (design/census.md). All other readers see the values of the process, which is the rule
    `T::Global` of LLVM main. A port of LLVM could hand contexts to more functions.

    The model redirects less than optctx does, so it needs a process that has not attached yet.
    """

    name = "library-options"
    source = "LLVM main (24git): cl::LibraryOptions, LLVMContext::getLibraryOptions(), T::Global"
    others: ClassVar[Literal["process", "registered"]] = "process"  # what readers without a context see

    def __enter__(self) -> LibraryOptionsStrategy:
        """Raises OptctxError in a process that has attached for another use."""
        if attached() is None and not _model.sites:
            Reach(_model.sees, self.others).attach()
            _model.others = self.others
        if _model.others != self.others:
            raise OptctxError(
                f"{self.name!r} models another LLVM in a process of its own, and this process has attached "
                "to LLVM already; use it in a new process, as `python -m evidence compare` does"
            )
        return self

    @property
    def sites(self) -> ReadSites:
        """How far the model reaches. For a strategy that is open."""
        return ReadSites(sum(_model.sites.values()), len(_model.sites) - sum(_model.sites.values()))


class LibraryDefaultsStrategy(LibraryOptionsStrategy):
    """The same under the other rule, `T::Default`: readers without a context see the registered values.

    What is set for the process has no effect on them. It has one on compilations whose LLVMContext has no
    values. Options that LLVM writes, and those of strings and lists, are read from the process still.
    """

    name = "library-options-default"
    source = "LLVM main (24git): cl::LibraryOptions, LLVMContext::getLibraryOptions(), T::Default"
    others = "registered"


class _Model:
    """What this process redirects. `sites`: address of an instruction -> whether its function has one."""

    def __init__(self) -> None:
        self.sites: dict[int, bool] = {}
        self.others = ""  # not attached

    def sees(self, site: Site) -> bool:
        seen = self.sites[site.address] = has_context(demangle(site.function))
        return seen


_model = _Model()


@cache
def has_context(function: str, contexts: frozenset[str] = CONTEXTS) -> bool:
    """Whether one of `contexts` follows from the parameters or the own object of a function (demangled)."""
    return any(reach.context in contexts for reach in reaches_in(function))
