"""What a kept experiment is one of: it goes on only with the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from optctx.errors import OptctxError
from optctx.facts import build_id
from optctx.fresh import Job

__all__ = ["Identity", "identity_of", "versions"]

_FORMAT = 1
_FIRST = ("format", "experiment")  # the parts that make all others another's


@dataclass(frozen=True)
class Identity:
    """Named parts, of JSON's types. Begins with "format" and "experiment"."""

    parts: Mapping[str, Any]

    def check(self, other: Mapping[str, Any], where: str) -> None:
        """Raise OptctxError, which names the parts, if what a file says is not the same."""
        changed = [name for name, part in self.parts.items() if other.get(name) != part]
        changed += [name for name in other if name not in self.parts]
        if first := [name for name in _FIRST if name in changed]:
            found = " and ".join(f"{name} {str(other.get(name))[:40]!r}" for name in first)
            expected = " and ".join(f"{name} {self.parts[name]!r}" for name in first)
            raise OptctxError(
                f"cannot resume from {where}: expected {expected}, found {found}; name another file"
            )
        if changed:
            raise OptctxError(
                f"cannot resume from {where}: its trials are of a {self.parts['experiment']} that differs in "
                f"{' and '.join(name[:40] for name in changed[:10])}; repeat its arguments, or name another "
                "file"
            )


def identity_of(
    experiment: str, jobs: Mapping[str, Job], base: tuple[tuple[str, ...], tuple[str, ...]], **more: Any
) -> Identity:
    """Of an experiment with jobs by name. `base`: the arguments that all its compilations have, and how
    function attributes count. `more`: further parts.
    """
    listed = list(jobs.values())
    return Identity(
        {
            "format": _FORMAT,
            "experiment": experiment,
            "input": {name: hashlib.sha256(_bytes(job.ir)).hexdigest() for name, job in jobs.items()},
            "pipelines": list(dict.fromkeys(job.passes for job in listed)),
            "target": [listed[0].triple, listed[0].cpu, listed[0].features, listed[0].opt_level],
            "base": [list(base[0]), list(base[1])],
            "versions": versions(),
            **more,
        }
    )


def versions() -> dict[str, str]:
    """Of what the figures of an experiment come from."""
    return {
        "optctx": version("optctx"),
        "llvmlite": version("llvmlite"),
        "LLVM": build_id(),
    }


def _bytes(ir: str | bytes) -> bytes:
    return ir if isinstance(ir, bytes) else ir.encode()
