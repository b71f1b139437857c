"""The machine that figures come from."""

from __future__ import annotations

import functools
import os
import platform
from typing import Any

from optctx.lab.timing import conditions, processors

__all__ = ["machine", "processor_model"]


def machine() -> dict[str, Any]:
    """The machine that figures come from, of JSON's types."""
    return {
        "processor": processor_model(),
        "processors": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "conditions": str(conditions(processors()[0])),
    }


@functools.cache  # the file has a page for each processor, and every task tells the model
def processor_model() -> str:
    """What the processor calls itself."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
