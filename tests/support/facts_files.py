"""What a file of LLVM's options holds."""

from __future__ import annotations

from typing import Any

OPTION: dict[str, Any] = {
    "name": "a",
    "type": "bool",
    "default": False,
    "value": False,
    "help": "",
    "choices": {},
    "alias_of": "",
    "aliases": [],
    "categories": [],
    "library": "ipo",
    "file": "",
    "element": "",
    "hidden": "not",
    "storage": "internal",
    "scope": "thread",
    "reason": "",
    "trust": "tuning",
    "trusted_values": "",
    "trust_reason": "",
    "callback": False,
    "copied_once": False,
    "readers": [],
}
HEAD = {"format": "optctx options 1", "library": "l", "build_id": "b", "llvm": "", "llvmlite": ""}
