"""A folder that shows a wrong result again: module, options, harness, both objects, and what differed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError, shown
from optctx.lab.timing.bench import check
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.results import Outcome, Tolerance
from optctx.plain_data import read_bounded
from optctx.toml import quoted, read_toml

__all__ = ["CASE", "Case", "read_case", "reproduce"]

CASE = "case.toml"
_HARNESS = "harness.toml"
_TEXT, _BITCODE = "module.ll", "module.bc"
_MOST_MODULE = 1 << 30  # bytes
_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("module", "harness", "passes", "triple", "cpu", "features"), str),
    **dict.fromkeys(("options", "base_options"), list),
    **dict.fromkeys(("relative_tolerance", "absolute_tolerance"), float),
    "opt_level": int,
}
_KINDS = {str: "a text (a file is beside this one)", list: "texts", float: "a number", int: "a whole number"}
_README = """{entry}: {state}: {error}

module.* is the kernel before the passes, harness.toml what it is called with. Options of base.o:
    {base}
and of candidate.o:
    {options}

To compile both again, each in a fresh process, and compare their outputs:

    python -m optctx.lab.timing {case}
"""


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


def reproduce(
    folder: str | os.PathLike[str],
    *,
    harness: Harness,
    ir: str | bytes,
    passes: str,
    options: Sequence[str],
    base: bytes,
    candidate: bytes,
    outcome: Outcome,
    tolerance: Tolerance | None = None,
    base_options: Sequence[str] = (),
    triple: str = "",
    cpu: str = "",
    features: str = "",
    opt_level: int = 2,
) -> str:
    """Write a case into a folder, which is made if it is missing. Return the path of its case.toml.

    `options` are those of the candidate, as on a command line ("-unroll-count=4"). `base` and `candidate` are
    the objects, which are kept beside. `python -m optctx.lab.timing CASE.TOML` runs it. Raises OptctxError if
    the folder cannot be written.
    """
    tolerance = tolerance or Tolerance()
    name = os.fsdecode(folder)
    module = _BITCODE if isinstance(ir, bytes) else _TEXT
    path = os.path.join(name, CASE)
    lines = [
        f"module = {quoted(module)}",
        f"harness = {quoted(_HARNESS)}",
        f"passes = {quoted(passes)}",
        f"options = [{', '.join(map(quoted, options))}]",
        f"base_options = [{', '.join(map(quoted, base_options))}]",
        f"triple = {quoted(triple)}",
        f"cpu = {quoted(cpu)}",
        f"features = {quoted(features)}",
        f"opt_level = {opt_level}",
        f"relative_tolerance = {float(tolerance.relative)!r}",
        f"absolute_tolerance = {float(tolerance.absolute)!r}",
        f"state = {quoted(outcome.state)}",
        f"error = {quoted(outcome.error)}",
    ]
    readme = _README.format(
        entry=harness.entry,
        state=outcome.state,
        error=outcome.error,
        base=" ".join(base_options) or "no options",
        options=" ".join(options) or "no options",
        case=CASE,
    )
    files = {
        module: ir if isinstance(ir, bytes) else ir.encode(),
        _HARNESS: harness.dumps().encode(),
        "base.o": base,
        "candidate.o": candidate,
        "README.txt": readme.encode(),
        CASE: ("\n".join(lines) + "\n").encode(),
    }
    try:
        os.makedirs(name, exist_ok=True)
        for each, data in files.items():
            with open(os.path.join(name, each), "wb") as file:
                file.write(data)
    except OSError as error:
        raise OptctxError(f"cannot write a case into {shown(name)}: {error.strerror or error}") from None
    return path


def read_case(path: str | os.PathLike[str]) -> Case:
    """The case in a file that `reproduce` wrote. Raises OptctxError for a file that is none."""
    table = read_toml(path)
    _check_case(table, shown(os.fsdecode(path)))
    folder = os.path.dirname(os.fsdecode(path))
    module = os.path.join(folder, table["module"])
    data = read_bounded(module, _MOST_MODULE)
    try:
        job = Job(
            data if module.endswith(".bc") else data.decode(),
            table["passes"],
            tuple(table["options"]),
            triple=table["triple"],
            cpu=table["cpu"],
            features=table["features"],
            opt_level=table["opt_level"],
        )
        return Case(
            Harness.from_toml(os.path.join(folder, table["harness"])),
            job,
            tuple(table["base_options"]),
            Tolerance(table["relative_tolerance"], table["absolute_tolerance"]),
        )
    except (TypeError, ValueError) as error:
        raise OptctxError(
            f"cannot use {shown(os.fsdecode(path))}: it is no case that reproduce() wrote ({error})"
        ) from None


def _check_case(table: Mapping[str, object], name: str) -> None:
    """Raise OptctxError for a table that `reproduce` has not written."""
    for key, kind in _TYPES.items():
        value = table.get(key)
        texts = not isinstance(value, list) or all(isinstance(each, str) for each in value)
        beside = key not in ("module", "harness") or os.path.basename(str(value)) == value
        kinds = (float, int) if kind is float else (kind,)
        if type(value) not in kinds or not texts or not beside:
            raise OptctxError(
                f"cannot use {name}: it is no case that reproduce() wrote (expected {key!r} as "
                f"{_KINDS[kind]}, found {shown(value)})"
            )
