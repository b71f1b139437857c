"""LLVM main's own proposal, modelled: values in the LLVMContext, for readers that can reach one."""

from __future__ import annotations

from typing import ClassVar, Literal

from evidence.reads.contexts import contexts_of
from evidence.strategies.reach import Reach
from evidence.strategies.scoped import LlvmContextStrategy
from optctx.engine.attach import attached
from optctx.errors import OptctxError

# From these LLVM main reaches an LLVMContext, or the options that one has left in MCTargetOptions.
CONTEXTS = frozenset({"Function", "Module", "MachineFunction", "LLVMContext", "MCContext"})


_modelled: list[str] = []  # what other readers see in this process, once it has attached


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
        if attached() is None:
            Reach(has_context, self.others).attach()
            _modelled.append(self.others)
        if self.others not in _modelled:
            raise OptctxError(
                f"{self.name!r} models another LLVM in a process of its own, and this process has attached "
                "to LLVM already; use it in a new process, as `python -m evidence compare` does"
            )
        return self


class LibraryDefaultsStrategy(LibraryOptionsStrategy):
    """The same under the other rule, `T::Default`: readers without a context see the registered values.

    What is set for the process has no effect on them. It has one on compilations whose LLVMContext has no
    values. Options that LLVM writes, and those of strings and lists, are read from the process still.
    """

    name = "library-options-default"
    source = "LLVM main (24git): cl::LibraryOptions, LLVMContext::getLibraryOptions(), T::Default"
    others = "registered"


def has_context(function: str) -> bool:
    """Whether one of `CONTEXTS` follows from the parameters or the own object of a function (demangled)."""
    return not CONTEXTS.isdisjoint(contexts_of(function))
