"""Processes that compile what an attacker wrote, and what they leave behind.

python -W error tests/promises/attacks.py stock|ignore|error|stamp CLASS... < JSON, a list of modules
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SAFE = "HOME", "LANG", "LD_PRELOAD", "PATH", "PYTHONPATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"


def attack(
    how: str,
    modules: Sequence[str],
    folder: Path,
    trust: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Compile modules in a process that works in `folder`, which is made; temporary files go there, too.

    `how`: "stock" for llvmlite alone; "ignore" and "error" for what attributes of functions mean; "stamp" to
    enter a context of the module's stamp. `trust`: classes that the program trusts; none for the default.
    """
    from tests.support.processes import SECONDS  # not where this file is the program

    folder.mkdir()
    kept = {name: os.environ[name] for name in SAFE if name in os.environ}
    return subprocess.run(
        [sys.executable, "-W", "error", __file__, how, *trust],
        input=json.dumps(modules),
        cwd=folder,
        env={**kept, "TMPDIR": str(folder), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def _main(how: str, *trust: str) -> None:
    """Print a line for each module: the digest of the object, or what is refused."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    more: dict[str, Any] = {"trust": trust} if trust else {}
    if how in ("ignore", "error"):
        import optctx

        optctx.attach(attributes=how, **more)  # type: ignore[arg-type]
    for ir in json.load(sys.stdin):
        with binding.create_context() as context, binding.parse_assembly(ir, context) as module:
            machine = binding.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine()
            if how == "stock":
                print(hashlib.sha256(machine.emit_object(module)).hexdigest())
            else:
                print(_compiled(how, module, machine, more))
    assert ("optctx._native" in sys.modules) == (how != "stock")


def _compiled(how: str, module: Any, machine: Any, more: dict[str, Any]) -> str:
    import optctx

    try:
        if how == "stamp":
            with optctx.OptionContext.from_module(module, **more):
                optctx.run_passes(module, "default<O1>", target_machine=machine)
        return hashlib.sha256(optctx.emit_object(module, machine)).hexdigest()
    except optctx.UntrustedOptionError as error:
        return f"refused {error.name} {error.trust}"


if __name__ == "__main__":
    _main(*sys.argv[1:])
