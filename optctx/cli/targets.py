"""What may have been meant by a triple, a processor or features that LLVM does not know."""

from __future__ import annotations

import re

from llvmlite import binding

from optctx.errors import OptctxError, shown
from optctx.fresh import FreshProcess, Job, Result
from optctx.fresh.job import initialise_targets
from optctx.wording import did_you_mean, nearest

__all__ = ["check_target"]

_TRIAL = "define void @trial() { ret void }"
_SHOWN = 8  # names of processors or features, in a message
# What triples begin with; LLVM says which of them it knows.
_ARCHITECTURES = (
    "x86_64",
    "i386",
    "i686",
    "aarch64",
    "aarch64_be",
    "arm",
    "armv7",
    "armeb",
    "thumb",
    "riscv32",
    "riscv64",
    "powerpc",
    "powerpc64",
    "powerpc64le",
    "mips",
    "mipsel",
    "mips64",
    "mips64el",
    "sparc",
    "sparcv9",
    "s390x",
    "wasm32",
    "wasm64",
    "hexagon",
    "amdgcn",
    "r600",
    "nvptx",
    "nvptx64",
    "bpf",
    "avr",
    "msp430",
    "lanai",
    "loongarch32",
    "loongarch64",
    "xcore",
    "ve",
    "m68k",
    "arc",
    "csky",
    "spirv32",
    "spirv64",
    "dxil",
)
_UNKNOWN = re.compile(r"'(?P<word>[^']*)' is not a recognized (?P<what>processor|feature) for this target")
_LISTED = re.compile(r"^ +([\w.+-]+) +- ", re.MULTILINE)


def check_target(job: Job) -> None:
    """Raise OptctxError for a triple, a processor or features that LLVM does not know, with the nearest ones.

    LLVM prints about a processor or feature that it does not know, or ends the process: a fresh one tries.
    """
    if not (job.triple or job.cpu or job.features):
        return
    _check_signs(job.features)
    with FreshProcess() as fresh:
        trial = fresh.compile(
            Job(_TRIAL, "verify", triple=job.triple, cpu=job.cpu, features=job.features, emit="assembly")
        )
        if trial.error is not None or trial.stderr:
            raise OptctxError(_explain(fresh, job, trial))


def _check_signs(features: str) -> None:
    for feature in filter(None, features.split(",")):
        if feature[0] not in "+-":
            raise OptctxError(
                f"cannot use --features {shown(features)}: write +{feature} to turn {feature} on, or "
                f"-{feature} to turn it off"
            )


def _explain(fresh: FreshProcess, job: Job, trial: Result) -> str:
    """A line about a target that a trial compilation did not take, with the nearest that LLVM knows."""
    if trial.error is not None and not trial.stderr:
        return _explain_triple(job, trial.error)
    said = trial.stderr.splitlines()[0] if trial.stderr else trial.error or ""
    unknown = _UNKNOWN.search(said)
    if unknown is None:
        parts = {"--triple": job.triple, "--cpu": job.cpu, "--features": job.features}
        given = " ".join(f"{name} {shown(text)}" for name, text in parts.items() if text)
        return f"cannot use {given}: LLVM says: {said.removeprefix('LLVM ERROR: ')}"
    word, processor = unknown["word"], unknown["what"] == "processor"
    known = _known(fresh, job.triple, processor=processor)
    argument = "--cpu" if processor else "--features"
    sign = "" if processor else word[:1]
    near = did_you_mean(f"{sign}{name}" for name in nearest(word.lstrip("+-"), known))
    hint = near or f"LLVM knows {', '.join(known[:_SHOWN])} and others"
    target = job.triple or binding.get_process_triple()
    return f"cannot use {argument} {shown(word)}: {unknown[0].partition(' for this')[0]} of {target}; {hint}"


def _explain_triple(job: Job, error: str) -> str:
    initialise_targets()
    architecture = job.triple.partition("-")[0]
    known = [name for name in _ARCHITECTURES if _is_known(name)]
    if architecture in known:
        return error
    hint = did_you_mean(nearest(architecture, known)) or f"LLVM knows {', '.join(known)}"
    return f"cannot use --triple {shown(job.triple)}: LLVM has no target called {shown(architecture)}; {hint}"


def _is_known(architecture: str) -> bool:
    try:
        binding.Target.from_triple(architecture)
    except RuntimeError:
        return False
    return True


def _known(fresh: FreshProcess, triple: str, *, processor: bool) -> list[str]:
    """What LLVM prints when it is asked for help, in a process of its own."""
    answer = fresh.compile(Job(_TRIAL, "verify", triple=triple, cpu="help", emit="none"))
    cpus, _, features = answer.stderr.partition("Available features")
    return _LISTED.findall(cpus if processor else features)
