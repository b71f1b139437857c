"""Which options a context cannot set without reaching the whole process, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from optctx._native import Kind, Uses
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.image.storage_beside import StateBeside
from optctx.plan.references import References, is_any_in

# Found by comparing .data and .bss before and after some 4,000 compilations of LLVM's own tests, and among
# the static variables of functions that have a guard. The copy is an object with a destructor that runs at
# exit, so it cannot be one of many.
COPIED_FOR_GOOD = dict.fromkeys(
    (
        "codegen-data-generate",
        "codegen-data-use-path",
        "exec-on-ir-change",
        "filter-passes",
        "filter-print-funcs",
        "print-changed-diff-path",
        "print-changed-dot-path",
        "verify-pseudo-probe-funcs",
    ),
    "LLVM copies it for good, at first use, into an object that the whole process shares",
)
# Whatever the code that reads them looks like.
_BY_NAME = COPIED_FOR_GOOD | dict.fromkeys(
    ("time-passes", "time-passes-per-run"), "the timers that it starts belong to the whole process"
)
_HEAP = "its Option object is on the heap, where no instruction names it"
_NOT_ITS_OWN = "its library is stripped, and nothing proves that its Option object is no part of another one"
_CALLBACK = "setting it runs a callback, whose effect belongs to the whole process"
_CACHED = "LLVM copies it once into a variable that the whole process shares and that was not found"
_POINTED_AT = "LLVM's own data points at it, past every instruction that could be redirected"
_LOCATION = "its value is in storage (cl::location) that has no name in the library"
_LAYOUT = "its type, such as a std::set, has a layout that is not known here"
_FIRST_USE = "the function that reads it also constructs it"
_WRITTEN_CLASS = "LLVM itself writes to it, and its class cannot be copied byte by byte"
_WRITTEN_LIST = "LLVM itself writes to it, and a list cannot be copied for each entry into a context"
_OTHER = Kind.other  # looking up a member of an enumeration takes longer than comparing it


def refuse(
    image: Image,
    options: dict[int, RegisteredOption],
    code: References,
    state: list[StateBeside],
    missing: set[str],
    uses: Mapping[int, Uses],
    on_heap: Collection[int],
) -> None:
    """Refuse the options that contexts cannot set.

    `options` by address; `missing`: names that lack a variable of theirs; `uses`: of regions by address;
    `on_heap`: addresses of options on the heap whose place there does not matter.
    """
    for option in options.values():
        if option.address not in on_heap and (reason := _reason_in_itself(image, option)):
            option.refuse(reason)
    _refuse_by_code(options, code, uses)
    _refuse_by_state(options, code, state, missing)


def _reason_in_itself(image: Image, option: RegisteredOption) -> str:
    if option.size is None:
        return _NOT_ITS_OWN if image.is_stripped and image.contains(option.address) else _HEAP
    if option.names[0] in _BY_NAME:
        return _BY_NAME[option.names[0]]
    if option.callback:
        return _CALLBACK
    if not option.type.supported:
        return _LAYOUT
    if option.type.external and option.variable_size is None:
        return _LOCATION
    return ""


def _refuse_by_code(options: dict[int, RegisteredOption], code: References, uses: Mapping[int, Uses]) -> None:
    owners = {o.variable: o for o in options.values() if o.variable_size is not None} | options
    for refusal in code.refusals:
        if refusal.region in owners:
            where = f"the instruction {refusal.code.hex()} at {refusal.address:#x} in {refusal.function}"
            owners[refusal.region].refuse(f"{where} cannot be redirected: {refusal.reason}")
    for option in options.values():
        own = uses.get(option.address)
        if own is None:
            continue
        if own.writes_head:
            option.refuse(_FIRST_USE)
        if own.writes and option.type.kind == _OTHER and not option.type.external:
            option.refuse(_WRITTEN_CLASS)
        if own.writes and option.type.kind == Kind.list:
            option.refuse(_WRITTEN_LIST)


def _refuse_by_state(
    options: dict[int, RegisteredOption], code: References, state: list[StateBeside], missing: set[str]
) -> None:
    """Refuse options whose values pass through storage that cannot be redirected."""
    stuck = code.stuck
    held = code.held_past_code()
    cut_off = (part for part in state if part.address in stuck or is_any_in(held, part.address, part.size))
    lacking = missing.union(*(part.serves for part in cut_off))
    if not lacking and not held:
        return
    for option in options.values():
        if not lacking.isdisjoint(option.names):
            option.refuse(_CACHED)
        places = (option.address, option.size), (option.variable, option.variable_size)
        if any(is_any_in(held, *place) for place in places):
            option.refuse(_POINTED_AT)
