"""LLVM's TargetMachine in an image: the functions that work with one, and what another one is made with.

A machine keeps what it built from option values, so LLVM is given another one wherever the values in force
are not those that the machine was made under (native/intercept/machines).
"""

from __future__ import annotations

from optctx._native import Image
from optctx.image.facts.fact import find, find_members, lacking
from optctx.image.facts.machines import CALLS, CREATE, MACHINE_FUNCTIONS, SETTINGS, MachineFunction

__all__ = ["MachineFunction", "find_machine_functions", "machine_calls"]


def find_machine_functions(image: Image) -> tuple[dict[int, MachineFunction], str]:
    """(the functions to intercept by address, what the image lacks of them or an empty string)."""
    families = [function.family for function in MACHINE_FUNCTIONS]
    members = find_members(image, families)
    found = {
        symbol.address: function for function in MACHINE_FUNCTIONS for symbol in members[function.family]
    }
    return found, lacking(image, families)


def machine_calls(image: Image) -> tuple[dict[str, int], list[int], str]:
    """What machines are made and changed with, for `configure_machines`.

    (addresses of functions by what native/intercept/machine_copies.hpp calls them, those of settings, what is
    missing).
    """
    create = find(image, CREATE)
    calls = {name: find(image, fact) for name, fact in CALLS.items()}
    named = {name: found.address for name, found in calls.items() if found is not None}
    if create is not None:
        named[f"create_by_{create.form}"] = create.address
    settings = [found.address for fact in SETTINGS if (found := find(image, fact)) is not None]
    return named, settings, lacking(image, (CREATE, *CALLS.values()))
