"""The package's dependencies, for the interpreter that it is built for (scikit-build-core, dynamic metadata).

They differ with the GIL, which no marker of PEP 508 tells. The lists, with their reasons: pyproject.toml.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from typing import Any

__all__ = ["dynamic_metadata", "dynamic_wheel"]


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, list[str]]:
    """Those of every interpreter and those of this one."""
    kind = "free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "with-gil"
    return {"dependencies": [*settings["every"], *settings[kind]]}


def dynamic_wheel(settings: Mapping[str, Any]) -> dict[str, bool]:
    """A wheel that is built from the source distribution may have others than that says."""
    return {"dependencies": True}
