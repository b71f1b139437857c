"""Judges `optctx.lower` on LLVM's own tests: is the output of the lowered module that under the options?

    python -m evidence.conformance.lowered [FOLDER...] [--crossed N] [--limit N] [--option NAME]

Cases are the command lines that set an option which `lower` takes; and for each such option N others of its
folder, to which it is added, and N to whose modules the attribute was written with another value before.

For each case a process that attached lowers the module, and prints it. A stock process compiles the module
under all options, another one the lowered module under those that `lower` left. Assembly and objects have to
be equal to the byte. Textual IR shows the attributes: both outputs are lowered again, and compared then.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from llvmlite import binding

from evidence.conformance.choice import add_choice, choose, new_parser, read_tests, work_apart
from evidence.conformance.forked import run_forked
from evidence.conformance.job import Job, Outcome, compile_job, source
from evidence.conformance.scoped import shuffled
from evidence.conformance.verdict import option_names
from optctx.lowering import EQUIVALENTS
from optctx.process import set_process_options

_SHOWN = 40
_AMDGPU = "/CodeGen/AMDGPU/"


class Crossed(NamedTuple):
    """What an option is tried with on other tests: values, and the folder of the tests."""

    value: str
    other: str  # written into the module before; empty where there is no other
    folder: str = _AMDGPU


CROSSED: Final[dict[str, Crossed]] = {
    "amdgpu-sched-strategy": Crossed("max-ilp", "max-memory-clause"),
    "amdgpu-max-memory-clause": Crossed("2", "1"),
    "amdgpu-set-wave-priority-valu-insts-threshold": Crossed("1", "1000"),
    "amdgpu-nsa-threshold": Crossed("5", "3", "/CodeGen/AMDGPU/GlobalISel/"),
    "amdgpu-promote-alloca-to-vector-max-regs": Crossed("2", "64"),
    "amdgpu-promote-alloca-to-vector-vgpr-ratio": Crossed("64", "2"),
    "amdgpu-hard-clause-length-limit": Crossed("2", "1"),
    "amdgpu-expert-scheduling-mode": Crossed("true", ""),
    "inline-max-stacksize": Crossed("1", "8", "/Transforms/Inline/"),
    "amdgpu-prealloc-sgpr-spill-vgprs": Crossed("true", ""),
    "amdhsa-code-object-version": Crossed("4", "5"),
    "profile-sample-accurate": Crossed("true", "", "/Transforms/SampleProfile/"),
    "x86-speculative-load-hardening": Crossed("true", "", "/CodeGen/X86/"),
}
# Their output has the module in it, and so its attributes.
_PRINTS: Final = {"stop-after", "stop-before", "print-after", "print-before", "print-after-all", "debug-only"}
# Options without which another one does nothing.
_WITH: Final = {"amdgpu-set-wave-priority-valu-insts-threshold": ("-amdgpu-set-wave-priority",)}


@dataclass(frozen=True)
class Case:
    """A job, and options that are written into its module first, in a context of their own."""

    job: Job
    before: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every case that can be judged agrees; 1 if one does not; 2 if there is no source."""
    options = make_parser().parse_args(arguments)
    jobs, _, _ = read_tests(options, "lowered")
    cases = list(_cases(jobs, options))
    print(f"{len(cases)} cases", flush=True)
    work_apart(options)
    with tempfile.TemporaryDirectory() as folder:
        rows = [*_rows(cases, Path(folder), options.timeout)]
    print(_summary(rows))
    return int(any(row.what == "differs" for row in rows))


def _cases(jobs: list[Job], options: argparse.Namespace) -> Iterator[Case]:
    own = [job for job in jobs if not EQUIVALENTS.keys().isdisjoint(option_names(job))]
    yield from map(Case, choose(own, options))
    for name, row in CROSSED.items():
        if options.option and name not in options.option:
            continue
        others = [job for job in jobs if row.folder in job.path and name not in option_names(job)]
        others = [job for job in others if not _PRINTS.intersection(option_names(job))]
        order = shuffled(len(others), options.seed + len(name))  # other tests for other options
        chosen = [others[i] for i in order[: options.crossed]]
        for job in chosen:
            added = replace(job, options=(*job.options, *_WITH.get(name, ()), f"-{name}={row.value}"))
            yield Case(added)
            yield Case(replace(added, as_object=not job.as_object))
            if row.other:
                yield Case(added, (f"-{name}={row.other}",))


class Row(NamedTuple):
    """What became of a case. `what`: agrees, differs, or why it was not judged."""

    case: Case
    what: str
    sensitive: bool = False
    detail: str = ""

    def __str__(self) -> str:
        job = self.case.job
        before = ("after", *self.case.before) if self.case.before else ()
        words = [job.where, job.tool, job.passes, *job.options, *before]
        return f"{' '.join(filter(None, words))}: {self.what} {'(sensitive)' * self.sensitive} {self.detail}"


def _rows(cases: Sequence[Case], folder: Path, timeout: float) -> Iterator[Row]:
    """Lower all modules; compile those each three times; compare."""
    lowered = dict(run_forked(((i, partial(_lowered, case)) for i, case in enumerate(cases)), timeout))
    tasks: list[tuple[tuple[int, str], Callable[[], Outcome]]] = []
    for i, outcome in lowered.items():
        if outcome.kind != "output":
            yield Row(cases[i], f"{outcome.kind} before anything was lowered", detail=outcome.text)
            continue
        job = cases[i].job
        texts = json.loads(outcome.text)
        paths = [folder / f"{i}.ll", folder / f"{i}.lowered.ll"]
        for path, text in zip(paths, texts["modules"], strict=True):
            path.write_text(text)
        rest = tuple(texts["rest"])
        plain, written = (replace(job, path=str(path)) for path in paths)
        tasks.append(((i, "under"), partial(_compiled, plain)))
        tasks.append(((i, "lowered"), partial(_compiled, replace(written, options=rest))))
        tasks.append(((i, "without"), partial(_compiled, replace(plain, options=rest))))
    found = dict(run_forked(tasks, timeout))
    again: list[tuple[int, Callable[[], Outcome]]] = []
    for i in {i for i, _ in found}:
        under, changed = found[i, "under"], found[i, "lowered"]
        if under != changed and cases[i].job.tool == "opt" and under.kind == changed.kind == "output":
            again.append((i, partial(_same_again, cases[i], under.text, changed.text)))
    same = dict(run_forked(again, timeout))
    for i in sorted({i for i, _ in found}):
        under, changed, without = (found[i, how] for how in ("under", "lowered", "without"))
        if under.kind in ("died", "rejected"):
            what = f"{under.kind} under the options"
            yield Row(cases[i], what if changed.kind == under.kind else "differs", detail=under.text[:80])
            continue
        if "late" in (under.kind, changed.kind):
            yield Row(cases[i], "late")
            continue
        agrees = under == changed or (i in same and same[i].text == "same")
        yield Row(cases[i], "agrees" if agrees else "differs", under != without, changed.words())


def _lowered(case: Case) -> Outcome:
    """In a child: the module, and the module with all lowered, as text; and the options that are left."""
    from optctx import OptctxError, OptionContext, lower

    job = case.job
    given = list(job.options)
    with binding.create_context() as llvm_context:
        try:
            module = binding.parse_assembly(source(job.path), llvm_context)
        except RuntimeError as error:
            return Outcome("error", text=str(error))
        with module:
            module.triple = job.triple or module.triple
            try:
                context = OptionContext.from_args(given, base="defaults", process_wide="exclusive")
                lower(OptionContext.from_args(list(case.before), base="defaults"), module)
            except OptctxError as error:
                return Outcome("refused", text=str(error))
            before = str(module)
            rest = lower(context, module)
            if rest is context:
                return Outcome("left", text="nothing was lowered")
            return Outcome("output", text=json.dumps({"modules": [before, str(module)], "rest": rest.args()}))


def _compiled(job: Job) -> Outcome:
    """In a child that never attached."""
    if job.options:
        set_process_options(job.options)
    return compile_job(job, keep_text=job.tool == "opt")


def _same_again(case: Case, *texts: str) -> Outcome:
    """In a child: whether two modules are the same with all lowered in both."""
    from optctx import OptionContext, lower

    context = OptionContext.from_args(list(case.job.options), base="defaults", process_wide="exclusive")
    printed = []
    for text in texts:
        with binding.create_context() as llvm_context:
            try:
                module = binding.parse_assembly(text, llvm_context)
            except RuntimeError:  # an analysis printed more than a module
                return Outcome("output", text="no module")
            with module:
                lower(context, module)
                printed.append(str(module))
    return Outcome("output", text="same" if printed[0] == printed[1] else "different")


def _summary(rows: Sequence[Row]) -> str:
    lines = [f"{number:8,}  {what}" for what, number in Counter(row.what for row in rows).most_common()]
    lines.append(f"{sum(row.sensitive for row in rows if row.what == 'agrees'):8,}  agree and are sensitive")
    lines += ["", "option: cases of LLVM's own, crossed; agreeing, and sensitive; differing"]
    for name in EQUIVALENTS:
        mine = [row for row in rows if name in option_names(row.case.job)]
        agreed = [row for row in mine if row.what == "agrees"]
        crossed = sum(bool(row.case.before) for row in mine)
        lines.append(
            f"  {name}: {len(mine) - crossed}, {crossed}; {len(agreed)}, "
            f"{sum(row.sensitive for row in agreed)}; {sum(row.what == 'differs' for row in mine)}"
        )
    lines += [f"  {row}" for row in rows if row.what == "differs"][:_SHOWN]
    return "\n".join(lines)


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = new_parser(".lowered", __doc__)
    add_choice(parser, seed="of the choice")
    parser.add_argument("--crossed", type=int, default=0, help="so many other tests for each option")
    return parser


if __name__ == "__main__":
    sys.exit(main())
