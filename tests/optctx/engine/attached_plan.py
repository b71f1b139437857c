"""What attaching has decided, without where things are loaded: the same in every process."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Mapping
from typing import Any

from optctx._native import NO_SLOT, read_bytes, trampolines
from optctx.engine.attach import attach
from optctx.engine.engine import Engine, _trampolines
from optctx.image.options import RegisteredOption

_REGION = (
    "size", "role", "kind", "ownership", "variable", "value_offset", "scoped", "written",
    "escapes", "shared", "has_default",
)  # fmt: skip


# Of each release of llvmlite: digests of what an earlier version of this package decided. Where that changes
# on purpose, `python -m tests.project.test_other_llvmlites` writes them anew.
KEPT = pathlib.Path(__file__).parents[2] / "programs" / "kept_plans.json"
# Where a thread's view is, from its thread pointer: which differs with what else a process has loaded.
_VIEW, _EXPOSED = -1024, -512


def decided(engine: Engine) -> dict[str, Any]:
    """Survey, plan and code. Addresses count from the library's base. Those on the heap are left out, and
    so is the library's path.
    """
    image = engine.image
    base, contains = image.base, image.contains
    plan, sites = engine.plan, engine.plan.references.sites
    words, first = plan.readers.words, len(plan.regions)
    loads = [int(word >= first and site.takes_address) for word, site in zip(words, sites, strict=True)]

    def at(address: int) -> int | None:
        return address - base if contains(address) else None

    names = {option.address: option.names for option in engine.survey.options}
    return {
        "layout": (engine.survey.registry.layout, engine.survey.registry.value_offset),
        "records": [
            (
                option.names, at(option.address), option.size, option.type, option.callback,
                at(option.variable), option.variable_size, names.get(option.alias_of),
                option.set_default_index, option.flag_default_index, option.heap_size, _stored(option, base),
                option.choices and [text for _, text, _ in option.choices.read()],
            )
            for option in engine.survey.options
        ],
        "options": [
            (option.names, option.scope, _placeless(option.reason, base), option.slot,
             NO_SLOT if option.value_slot in (None, option.slot) else option.value_slot, option.readers)
            for option in plan.options.values()
        ],
        "regions": [
            (at(region.live), *(getattr(region, name) for name in _REGION)) for region in plan.regions
        ],
        "slots": [(at(address), slot) for address, slot in plan.slots.items()],
        "set_default": [region.set_default for region in plan.regions],
        "served": {slot: [option.names for option in served] for slot, served in plan.served.items()},
        "unavailable": {name: why.replace(engine.image.path, "") for name, why in plan.unavailable.items()},
        "sites": [
            (
                site.address - base, image.initial_bytes(site.address, site.length), site.region - base,
                site.offset, image.name_of(site.function), site.tactic, site.scratch, site.operand_at,
                site.writes, site.takes_address, site.reads, site.function,
            )
            for site in sites
        ],
        "refusals": [refusal._replace(address=refusal.address - base, region=refusal.region - base)
                     for refusal in plan.references.refusals],
        "tables": [(at(each.address), each.size, [(place, at(to)) for place, to in each.pointers])
                   for each in plan.references.tables],
        "loose": [at(address) for address in plan.references.loose],
        "readers": [
            (each.slot, image.name_of(each.function), each.takes_address, each.offset, each.reads)
            for each in plan.readers
        ],
        "words": (words, loads),
        "trampolines": [
            (address - base, *code)
            for address, *code in trampolines(image, sites, plan.readers, _VIEW, _EXPOSED)
        ],
        "hooks": [(address - base, code) for address, code, _ in engine.hooks.calls],
    }  # fmt: skip


def _placeless(reason: str, base: int) -> str:
    return " ".join(
        f"{int(word, 16) - base:#x}" if word.startswith("0x") else word for word in reason.split()
    )


def _stored(option: RegisteredOption, base: int) -> Any:
    names, values, size = option.stored_choices()
    return names, [value - base for value in values] if option.type.registry_parser else values, size


def changed(engine: Engine) -> list[int]:
    """Where instructions of LLVM's code are changed, from the library's base. Nothing else of the code is."""
    image = engine.image
    code = [
        *_trampolines(engine.image, engine.plan),
        *engine.hooks.calls,
        *engine.hooks.starts,
    ]
    spans = {address: len(before) for address, before, _ in code}
    at, found = image.text_begin, []
    for begin in [*sorted(spans), image.text_end]:  # what lies before it, and it
        size = begin - at
        assert read_bytes(at, size) == image.initial_bytes(at, size), (
            f"changed before {begin - image.base:#x}"
        )
        at = begin + spans.get(begin, 0)
        if read_bytes(begin, at - begin) != image.initial_bytes(begin, at - begin):
            found.append(begin - image.base)
    assert len(found) == len(code), "all of it is redirected"
    return found


def report() -> str:
    """What a process prints that compares itself with others, and with earlier versions of this package."""
    engine = attach()
    parts = {**decided(engine), "changed": changed(engine)}
    return json.dumps(
        {
            "state": engine.kept,
            "decided": digests(parts),
            "sites": len(engine.plan.references.sites),
        }
    )


def digests(parts: dict[str, Any]) -> dict[str, str]:
    """Of values alone: classes may get other names, or become one."""
    return {name: hashlib.sha256(repr(_plain(part)).encode()).hexdigest() for name, part in parts.items()}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return getattr(value, "name", value)  # of an enumerator of native code
