"""A folder that shows a wrong result again: module, options, harness, both objects, and what differed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from optctx.compiling import CodeModel, FreshProcess, Job, Reloc
from optctx.compiling.job import TARGET
from optctx.errors import EndedEarlyError, OptctxError, shown
from optctx.lab.timing.bench import check
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.results import Outcome, Tolerance
from optctx.outputs import OUT_OF, write_whole
from optctx.plain_data import read_bounded
from optctx.toml import read_toml, toml_value, typed

CASE = "case.toml"
_HARNESS = "harness.toml"
_TEXT, _BITCODE = "module.ll", "module.bc"
_MOST_MODULE = 1 << 30  # bytes
_OF_JOB = ("passes", "options", *TARGET)
_COMMENT = f"""\
# The module compiled with base_options is base.o, with options candidate.o. The harness says what is called.
# To compile both again, each in a fresh process, and compare what they compute:
#     optctx time --again {CASE}
"""

Beside = Annotated[str, Meta(pattern=r"^[^/\0]+$")]  # the name of a file beside the case


class _File(Struct, forbid_unknown_fields=True):
    """What case.toml holds. `state` and `error`: what became of the candidate, for a reader."""

    module: Beside
    harness: Beside
    passes: str
    options: tuple[str, ...]
    base_options: tuple[str, ...] = ()
    triple: str = ""
    cpu: str = ""
    features: str = ""
    opt_level: Annotated[int, Meta(ge=0, le=3)] = 2
    reloc: Reloc = "pic"
    code_model: CodeModel = "default"
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    state: str = ""
    error: str = ""


@dataclass(frozen=True)
class Case:
    """A candidate and its base, to be compiled and compared again. `job`: the candidate's, with options."""

    harness: Harness
    job: Job
    base_options: tuple[str, ...] = ()
    tolerance: Tolerance = Tolerance()  # noqa: RUF009  frozen

    def run(self) -> Outcome:
        """Compile both in fresh processes, call both once, and compare.

        Raises OptctxError if one does not compile, or the base cannot be run.
        """
        with FreshProcess() as fresh:
            results = [
                fresh.compile(replace(self.job, options=options))
                for options in (self.base_options, self.job.options)
            ]
        for what, result in zip(("base", "candidate"), results, strict=True):
            if result.error is not None:
                raise OptctxError(f"cannot compile the {what}: {result.error}")
        base, candidate = (result.code for result in results)
        return check(self.harness, base, {"candidate": candidate}, tolerance=self.tolerance)["candidate"]

    def write(
        self, folder: str | os.PathLike[str], *, base: bytes, candidate: bytes, outcome: Outcome
    ) -> str:
        """Write the case into a folder, which is made if it is missing. Return the path of its case.toml.

        `base` and `candidate` are the objects, which are kept beside. `optctx time --again CASE.toml` runs
        it. Raises OptctxError if the folder cannot be written: EndedEarlyError if the disk is full.
        """
        job, name = self.job, os.fsdecode(folder)
        module = _BITCODE if isinstance(job.ir, bytes) else _TEXT
        told = _File(
            module,
            _HARNESS,
            **{name: getattr(job, name) for name in _OF_JOB},
            base_options=self.base_options,
            relative_tolerance=float(self.tolerance.relative),
            absolute_tolerance=float(self.tolerance.absolute),
            state=outcome.state,
            error=outcome.error,
        )
        lines = (f"{key} = {toml_value(value)}\n" for key, value in msgspec.structs.asdict(told).items())
        files = {
            module: job.ir if isinstance(job.ir, bytes) else job.ir.encode(),
            _HARNESS: self.harness.dumps().encode(),
            "base.o": base,
            "candidate.o": candidate,
            CASE: f"{_COMMENT}{''.join(lines)}".encode(),
        }
        try:
            os.makedirs(name, exist_ok=True)
        except OSError as error:
            kind = EndedEarlyError if error.errno in OUT_OF else OptctxError
            raise kind(f"cannot write a case into {shown(name)}: {error.strerror or error}") from None
        for each, data in files.items():
            write_whole(os.path.join(name, each), data)
        return os.path.join(name, CASE)


def read_case(path: str | os.PathLike[str]) -> Case:
    """The case in a file that `Case.write` wrote. Raises OptctxError for another file."""
    told = typed(read_toml(path), _File, f"the case {shown(os.fsdecode(path))}", _File.__struct_fields__)
    folder = os.path.dirname(os.fsdecode(path))
    data = read_bounded(os.path.join(folder, told.module), _MOST_MODULE)
    try:
        ir = data if told.module.endswith(".bc") else data.decode()
    except UnicodeDecodeError:
        raise OptctxError(
            f"cannot use {shown(told.module)}: expected LLVM IR as text in UTF-8; bitcode is a file .bc"
        ) from None
    return Case(
        Harness.from_toml(os.path.join(folder, told.harness)),
        Job(ir, **{name: getattr(told, name) for name in _OF_JOB}),
        told.base_options,
        Tolerance(told.relative_tolerance, told.absolute_tolerance),
    )
