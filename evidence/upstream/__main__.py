"""`make upstream`: from Debian's source package to the figures of README.md, step by step."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from evidence.shell import StepError

from . import objects
from .build import Builder
from .lit import run_lit
from .programs import compile_object, link, patched_includes
from .proof import prove
from .setup import Setup, find_setup
from .source import configure, unpack
from .unit import run_layout, run_unit
from .ways import ROOTS, compare, make_libraries

_ROOT = Path(__file__).parents[2]
_T = TypeVar("_T")
# What `opt` reaches: its driver, and what its driver asks of the one target that is configured.
_ROOTS = ("optMain", *ROOTS)
# Passes whose options the proof sets, then what binds an LLVMContext, then the driver of opt.
_FIRST = {
    "LLVMScalarOpts": "DeadStoreElimination EarlyCSE GVN IndVarSimplify JumpThreading LICM LoopDistribute "
    "LoopRotation LoopStrengthReduce LoopUnrollPass MemCpyOptimizer SROA SimplifyCFGPass",
    "LLVMTransformUtils": "LoopUnrollRuntime SimplifyCFG",
    "LLVMAnalysis": "InlineCost LoopAccessAnalysis",
    "LLVMInstCombine": "InstructionCombining",
    "LLVMVectorize": "LoopVectorize SLPVectorizer",
    "LLVMPasses": "PassBuilderPipelines",
    "LLVMCore": "LLVMContext LLVMContextImpl LegacyPassManager PassManager",
    "LLVMOptDriver": "NewPMDriver optdriver",
    "LLVMX86Desc": "X86MCAsmInfo",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the steps that are asked for; 1 and one error on stderr if one fails."""
    asked = make_parser().parse_args(arguments)
    try:
        setup = find_setup(asked.build, asked.llvm)
        setup.make_folders()
        _run(setup, asked)
    except StepError as error:
        print(f"upstream: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("upstream: interrupted; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evidence.upstream", description=__doc__)
    parser.add_argument(
        "--all", action="store_true", help="rebuild every file that knows options, not the first ones"
    )
    parser.add_argument(
        "--lit", nargs="+", metavar="FOLDER", help="run these folders of llvm/test (Transforms/LICM)"
    )
    parser.add_argument("--llvm", type=Path, default=Path("/usr/lib/llvm-19"), help="prefix of llvm-19-dev")
    parser.add_argument(
        "--build", type=Path, default=_ROOT / "build" / "upstream", help="where everything is made"
    )
    return parser


def _run(setup: Setup, asked: argparse.Namespace) -> None:
    _step("source package, patches", lambda: _done(unpack(setup)))
    _step("configure", lambda: _done(configure(setup)))
    builder = _step("Debian's archives", lambda: Builder(setup), lambda made: f"{len(made.stock)} objects")
    unit = _step(
        "unit tests",
        lambda: run_unit(setup, builder),
        lambda passed: f"{passed[0]} of LLVM's, {passed[1]} of contexts passed",
    )
    same = _step("layout", lambda: run_layout(setup), lambda count: f"{count} sizes and offsets are the same")
    programs, rebuilt = _programs(setup, builder, asked.all)
    kernel = _ROOT / "examples" / "kernel.ll"
    outcome = _step(
        "threads",
        lambda: prove(setup, programs["opt"], programs["source"], kernel, all_files=asked.all),
        lambda found: (
            f"{found.threads} threads, {found.inputs} inputs, {found.distinct} different outputs: as "
            "processes of the patched opt, of Debian's and of its llc"
        ),
    )
    ways = _step(
        "engine and prototype",
        lambda: compare({way: programs[way] for way in ("thread", "source")}),
        lambda found: (
            f"{', '.join(f'{name}: {len(held)}' for name, held in found.holding.items())} properties hold "
            f"({found.programs} programs); {found.pairs} pairs of threads with some of {found.options} "
            "options: the same both ways"
        ),
    )
    report = {
        "all": asked.all,
        "rebuilt": rebuilt,
        "unit": unit,
        "layout": same,
        "threads": asdict(outcome),
        "ways": asdict(ways),
    }
    path = setup.results / "report.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"{'report':28}           {path}")
    if asked.lit:
        _step("lit", lambda: run_lit(setup, programs["opt"], asked.lit), str)


def _first() -> set[str]:
    """The files that every run rebuilds."""
    return {f"{archive}/{name}.cpp" for archive, names in _FIRST.items() for name in names.split()}


def _programs(setup: Setup, builder: Builder, everything: bool) -> tuple[dict[str, Path], int]:
    """The patched opt, a library for each of two ways, and how many objects were rebuilt."""
    linked = objects.reachable(builder.stock, _ROOTS)
    wanted = builder.members(_first())
    if everything:
        wanted |= {
            member for member in objects.option_members(builder.stock) & linked if builder.can_build(member)
        }
    name = "all files that know options" if everything else "first pass files"
    rebuilt = _step(
        name,
        lambda: builder.build_closure(wanted, linked),
        lambda made: f"{len(made)} objects are of this state",
    )

    def make() -> dict[str, Path]:
        archives = builder.replace(rebuilt)
        driver = compile_object(
            setup, setup.source / "llvm" / "tools" / "opt" / "opt.cpp", "opt", patched_includes(setup)
        )
        return {
            "opt": link(setup, "opt", [driver], archives),
            **make_libraries(setup, builder, archives),
        }

    return _step("link", make, lambda made: ", ".join(sorted(made))), len(rebuilt)


def _done(changed: bool) -> str:
    return "done" if changed else "up to date"


def _step(name: str, work: Callable[[], _T], say: Callable[[_T], str] = str) -> _T:
    print(f"{name:28}", end="", flush=True)
    started = time.monotonic()
    try:
        result = work()
    except BaseException:
        print("failed")
        raise
    print(f"{time.monotonic() - started:7.0f} s  {say(result)}")
    return result


if __name__ == "__main__":
    sys.exit(main())
