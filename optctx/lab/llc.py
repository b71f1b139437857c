"""A target as llc takes it: read from a command line, and written for one."""

from __future__ import annotations

import re
import shlex
from typing import Any, get_args

from optctx.compiling import CodeModel, Job
from optctx.errors import OptctxError, shown

_LLC = {"mtriple": "triple", "mcpu": "cpu", "mattr": "features"}
_LLC |= {"relocation-model": "reloc", "code-model": "code_model"}
# As opt and llc name relocation models; "" is their default.
_RELOC = {"default": "", "static": "static", "pic": "pic", "dynamicnopic": "dynamic-no-pic"}
MODEL = {each: each for each in get_args(CodeModel)} | {"default": "", "jitdefault": "large"}
"""As opt, llc and clang name code models; "" is their default."""


def tool_target(job: Job) -> list[str]:
    """The target for opt and llc."""
    reloc, model = _RELOC[job.reloc], MODEL[job.code_model]
    return [
        *([f"-mtriple={job.triple}"] if job.triple else []),
        *([f"-mcpu={job.cpu}"] if job.cpu else []),
        *([f"-mattr={job.features}"] if job.features else []),
        *([f"-relocation-model={reloc}"] if reloc else []),
        *([f"-code-model={model}"] if model else []),
    ]


def target_of(llc: str) -> dict[str, Any]:
    """The fields of a Job for a target as llc takes it, the opposite of `tool_target`.

    Raises OptctxError for what is no part of a target.
    """
    try:
        words = shlex.split(llc)
    except ValueError as error:
        raise OptctxError(f"cannot use --llc {shown(llc)}: {error}") from None
    target: dict[str, Any] = {}
    for word in words:
        name, _, value = word.lstrip("-").partition("=")
        if re.fullmatch("-O[0-3]", word):
            target["opt_level"] = int(word[2])
        elif word.startswith("-") and name in _LLC and value:
            target[_LLC[name]] = value.replace("dynamic-no-pic", "dynamicnopic") if "reloc" in name else value
        else:
            known = ", ".join(f"-{each}=" for each in _LLC)
            raise OptctxError(
                f"cannot use --llc {shown(llc)}: expected {known} or -O0 to -O3, found {shown(word)}; an "
                "option of LLVM is set by --set NAME=VALUE"
            )
    return target
