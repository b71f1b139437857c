"""What a file of a census holds."""

from __future__ import annotations

OPTION = {
    "name": "a",
    "names": ["a"],
    "type": "bool",
    "form": "scalar",
    "storage": "internal",
    "categories": [],
    "file": "",
    "library": "ipo",
    "default": "false",
    "scope": "thread",
    "reason": "",
    "alias_of": "",
    "callback": False,
    "copied_once": False,
    "readers": [],
}
HEAD = {"census": 1, "library": "l", "build_id": "b", "llvm": "", "llvmlite": ""}
