"""Keep TargetMachines apart by the option values that they were built from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from optctx._native import (
    Image,
    MachineUse,
    Skip,
    Subject,
    configure_machines,
    interceptors,
    machine_interceptor,
    pack_interception,
    pack_machine_use,
)
from optctx.arch import processor
from optctx.image.facts.machines import FOR_WHOLE_MACHINE
from optctx.image.machines import MachineFunction, find_machine_functions, machine_calls
from optctx.plan.refusals import PlannedOption

__all__ = ["Machines", "belongs_to_machine"]


def belongs_to_machine(option: PlannedOption) -> bool:
    """Whether LLVM reads the option only while it makes a TargetMachine, which a module has one of."""
    return bool(option.readers) and all(re.search(FOR_WHOLE_MACHINE, reader) for reader in option.readers)


class Machines:
    """What of TargetMachines is intercepted.

    `intercepted`: functions by address. `refusal`: why there are none, or an empty string.
    """

    def __init__(self, image: Image, index: int) -> None:
        """Run functions of the image on scratch memory; change nothing of LLVM's."""
        self._index = index
        self.intercepted: dict[int, MachineFunction]
        self.intercepted, missing = find_machine_functions(image)
        calls, settings, unknown = machine_calls(image)
        self.refusal = missing or unknown
        if not self.refusal:
            try:
                configure_machines(index, calls, settings)
            except RuntimeError as error:
                self.refusal = str(error)
        if self.refusal:
            self.intercepted = {}

    def thunks(self) -> Iterable[tuple[int, bytes]]:
        """The code to put in the way of each function, by its address."""
        passing = machine_interceptor()
        for address, function in self.intercepted.items():
            if function.use == MachineUse.layout:
                entry = pack_interception(self._index, Subject.machine, function.argument, Skip.never)
                yield address, processor().thunk(address, entry, *interceptors())
                continue
            entry = pack_machine_use(self._index, function.use, function.argument)
            yield address, processor().passing_thunk(address, entry, passing)
