"""Targets of modules in TVM's notation for tests, and what fresh processes give for them."""

from __future__ import annotations

import re
from typing import Any

from optctx.compiling import FreshProcess, Job
from tests.support.ir_texts import CALLS, COUNTED, SCALE, X86

__all__ = ["EIGHT", "FOUR", "KERNELS", "TARGETS", "reference"]

FOUR = "llvm -cl-opt=-unroll-count:uint=4"
EIGHT = '{"kind": "llvm", "cl-opt": ["-unroll-count:uint=8"]}'

KERNELS = {"counted": COUNTED, "scale": SCALE, "calls": CALLS}
TARGETS: dict[str, dict[str, Any]] = {
    "plain": {},
    "unrolled": {"cl-opt": ["-unroll-count:uint=3", "-unroll-runtime"]},
    "vectors": {"cl-opt": ["-force-vector-width:uint=8", "-force-vector-interleave:uint=2"]},
    "inlined": {"cl-opt": ["-inline-threshold:int=0"], "opt-level": 2},
    "skylake": {"cl-opt": ["-force-vector-width:uint=16"], "mcpu": "skylake", "mattr": ["-avx2"]},
}


def reference(fresh: FreshProcess, kernel: str, config: dict[str, Any]) -> tuple[str | None, bytes]:
    """IR and object of a fresh process with the options of a target on its command line."""
    options = tuple(re.sub(":[a-z]+=", "=", text) for text in config.get("cl-opt", ()))
    level = config.get("opt-level", 3)
    done = fresh.compile(
        Job(
            KERNELS[kernel],
            f"default<O{level}>",
            options,
            triple=X86,
            cpu=config.get("mcpu", "generic"),
            features=",".join(config.get("mattr", ())),
            opt_level=level,
            emit="both",
        )
    )
    assert done.error is None
    return done.ir, done.code
