"""A process that compiles what an attacker wrote: python -W error attacks.py < JSON, a list of attempts.

An attempt is [how, trust, module]. How: "stock" for llvmlite alone; "ignore" and "error" for what attributes
of functions mean; "stamp" to enter a context of the module's stamp. Trust: classes that the program trusts.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from llvmlite import binding


def _main() -> None:
    """Print a line for each module: the digest of the object, or what is refused."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    for how, trust, ir in json.load(sys.stdin):
        with binding.create_context() as context, binding.parse_assembly(ir, context) as module:
            machine = binding.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine()
            if how == "stock":
                assert "optctx._native" not in sys.modules
                code = machine.emit_object(module)
            else:
                code = _compiled(how, trust, module, machine)
        print(code if isinstance(code, str) else hashlib.sha256(code).hexdigest())


def _compiled(how: str, trust: list[str], module: Any, machine: Any) -> bytes | str:
    import optctx

    more: dict[str, Any] = {"trust": trust} if trust else {}
    optctx.attach(attributes="error" if how == "error" else "ignore", **more)
    try:
        if how == "stamp":
            with optctx.OptionContext.from_module(module, **more):
                optctx.run_passes(module, "default<O1>", target_machine=machine)
        return optctx.emit_object(module, machine)
    except optctx.UntrustedOptionError as error:
        return f"refused {error.name} {error.trust}"


if __name__ == "__main__":
    _main()
