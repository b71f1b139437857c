"""Optuna's threads search options: each trial compiles in a scope of its own, so trials run at once.

Without scopes options are the process's, and trials take turns at a lock. Both find the same sizes.

Run it (pip install 'optctx[tune]'): python examples/autotune_threads.py
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import optuna
from optuna.samplers import GridSampler

from optctx import OptionContext, emit_object, run_passes

IR = Path(__file__).with_name("kernel.ll").read_text()
SPACE = {"unroll-count": [1, 2, 3, 4, 5, 6, 7, 8], "force-vector-width": [1, 2, 4, 8]}
LOCK = threading.Lock()


def scope(options: dict[str, int]) -> Any:
    return OptionContext(options)


@contextmanager
def lock(options: dict[str, int]) -> Iterator[None]:
    with LOCK:
        for name, value in options.items():
            llvm.set_option("", f"-{name}={value}")
        yield


def search(way: Any) -> dict[str, int]:
    """The size of the object by its options, for every point of the space."""

    def size(trial: optuna.Trial) -> int:
        options = {name: trial.suggest_categorical(name, values) for name, values in SPACE.items()}
        with way(options):
            module = llvm.parse_assembly(IR, llvm.create_context())
            machine = llvm.Target.from_default_triple().create_target_machine(codemodel="default")
            run_passes(module, "default<O3>", target_machine=machine)
            return len(emit_object(module, machine))

    study = optuna.create_study(sampler=GridSampler(SPACE, seed=0))
    began = time.perf_counter()
    study.optimize(size, n_jobs=os.cpu_count() or 1)
    best = " ".join(f"-{name}={value}" for name, value in study.best_params.items())
    print(f"{way.__name__}: {time.perf_counter() - began:.1f} s, {study.best_value:.0f} bytes with {best}")
    return {str(sorted(trial.params.items())): int(trial.values[0]) for trial in study.trials}


llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
optuna.logging.set_verbosity(optuna.logging.WARNING)
assert search(scope) == search(lock)
