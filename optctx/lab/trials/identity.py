"""What a kept experiment is one of: it goes on only with the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from optctx.compiling import Job
from optctx.compiling.facts import build_id
from optctx.errors import OptctxError

_FORMAT = 2
_FIRST = ("format", "experiment")  # the parts that make all others another's


def check_identity(
    own: Mapping[str, Any], other: Mapping[str, Any], where: str, remedy: str = "name another file"
) -> None:
    """Raise OptctxError, which names the parts, if what a file or study says is not what an experiment is."""
    changed = [name for name, part in own.items() if other.get(name) != part]
    changed += [name for name in other if name not in own]
    if first := [name for name in _FIRST if name in changed]:
        found = " and ".join(f"{name} {str(other.get(name))[:40]!r}" for name in first)
        expected = " and ".join(f"{name} {own[name]!r}" for name in first)
        raise OptctxError(f"cannot resume from {where}: expected {expected}, found {found}; {remedy}")
    if changed:
        raise OptctxError(
            f"cannot resume from {where}: its trials are of a {own['experiment']} that differs in "
            f"{' and '.join(name[:40] for name in changed[:10])}; repeat its arguments, or {remedy}"
        )


def identity_of(
    experiment: str, jobs: Mapping[str, Job], base: tuple[tuple[str, ...], tuple[str, ...]], **more: Any
) -> dict[str, Any]:
    """Name the parts of an experiment, of JSON's types: "format" and "experiment" first. `jobs`: by name.

    `base`: the arguments that all its compilations have, and how function attributes count. `more`: further
    parts.
    """
    listed = list(jobs.values())
    pipelines = list(dict.fromkeys(job.passes for job in listed))
    targets = [list(job.target.values()) for job in listed]
    if len(pipelines) not in (1, len(listed)) or any(each != targets[0] for each in targets):
        more["jobs"] = [[job.passes, *own] for job, own in zip(listed, targets, strict=True)]
    return {
        "format": _FORMAT,
        "experiment": experiment,
        "input": {name: _digest(job.ir) for name, job in jobs.items()},
        "pipelines": pipelines,
        "target": targets[0],  # and "jobs" of each job, where these two parts do not say it
        "base": [list(base[0]), list(base[1])],
        "versions": versions(),
        **more,
    }


def _digest(ir: str | bytes) -> str:
    # A text that is no Unicode is refused where it goes to another process.
    data = ir if isinstance(ir, bytes) else ir.encode(errors="surrogatepass")
    return hashlib.sha256(data).hexdigest()


def versions() -> dict[str, str]:
    """Of what the figures of an experiment come from."""
    return {
        "optctx": version("optctx"),
        "llvmlite": version("llvmlite"),
        "LLVM": build_id(),
    }
