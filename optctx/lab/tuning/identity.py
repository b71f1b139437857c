"""What a study is a study of: a study goes on only with the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.lab.space import Space
from optctx.lab.tuning.evaluate import Setup

__all__ = ["Identity", "identity_of", "versions"]

_FORMAT = 1


@dataclass(frozen=True)
class Identity:
    """Named parts, of JSON's types."""

    parts: Mapping[str, Any]

    def check(self, other: object, where: str) -> None:
        """Raise OptctxError, which names the parts, if what a file says is not the same."""
        if not isinstance(other, dict):
            raise OptctxError(f"cannot resume from {where}: it is no study of optctx; name another file")
        changed = [name for name, part in self.parts.items() if other.get(name) != part]
        if changed:
            raise OptctxError(
                f"cannot resume from {where}: it is a study that differs in {' and '.join(changed)}; "
                "repeat that "
                "study's arguments, or name another file"
            )


def identity_of(
    setup: Setup,
    space: Space,
    objectives: Sequence[str],
    *,
    sampler: str,
    seed: int,
    window: int,
    pruner: str = "none",
) -> Identity:
    """Of a study. `objectives`: a text for each that says all that its figures depend on."""
    job = setup.job
    source = job.ir if isinstance(job.ir, bytes) else job.ir.encode()
    return Identity(
        {
            "format": _FORMAT,
            "input": hashlib.sha256(source).hexdigest(),
            "pipelines": list(setup.pipelines),
            "target": [job.triple, job.cpu, job.features, job.opt_level],
            "space": space.texts(),
            "objectives": list(objectives),
            "base": [list(setup.arguments), list(setup.attributes)],
            "versions": versions(),
            "sampler": sampler,
            "pruner": pruner,
            "seed": seed,
            "window": window,
        }
    )


def versions() -> dict[str, str]:
    """Of what the figures of a study come from."""
    return {
        "optctx": version("optctx"),
        "llvmlite": version("llvmlite"),
        "LLVM": attach().image.build_id,
    }
