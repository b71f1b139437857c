"""Puts in place what the core reaches in folders below it.

Comes with the first name of `optctx` that is no error. Where a module is used without any, `engine/host.py`
imports this at the first use.
"""

from __future__ import annotations

import sys
from typing import Any

from optctx.context.context import OptionContext  # which native code calls back once an LLVM is attached
from optctx.context.inputs import use_decorator
from optctx.engine.attach import when_attached
from optctx.engine.host import use_hosts
from optctx.hosts.llvm_c import LLVM_C
from optctx.hosts.llvmlite.llvmlite_host import LLVMLITE


def _numba_begins() -> None:
    """Have Numba's own cache keep scopes apart, if this process uses Numba by now."""
    if "numba.core.caching" in sys.modules:
        from optctx.numba.extension import begin

        begin()


def _decorated_with_numba(context: OptionContext, function: Any) -> Any:
    from optctx.numba.decorators import apply_context

    return apply_context(context, function)


use_hosts(LLVMLITE, LLVM_C)
when_attached(_numba_begins)
use_decorator(_decorated_with_numba)
