"""The target that a module carries: the module flag "tvm_target", as TVM writes it.

!llvm.module.flags = !{!0}
!0 = !{i32 2, !"tvm_target", !"{\\"kind\\": \\"llvm\\", \\"cl-opt\\": [\\"-unroll-count:uint=4\\"]}"}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optctx.engine.engine import Engine
from optctx.errors import TargetError, shown
from optctx.hosts.llvmlite import llvmlite_image
from optctx.travelling.module_metadata import Room, TooLargeError, read_named, write_flag
from optctx.travelling.stamps import called, module_label
from optctx.trust import trusting
from optctx.tvm.machine import names_architecture
from optctx.tvm.options import read_options
from optctx.tvm.target import Target

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

__all__ = ["read_target_metadata", "write_target_metadata"]

_KEY = "tvm_target"
_FLAGS = "llvm.module.flags"
_TARGETS = ("{", "llvm")  # prefixes of the texts that TVM writes
# Limits, because a module may be hostile. No target needs more.
_MOST_FLAGS = 10_000
_MOST_OPERANDS = 4096  # of a flag
_MOST_BYTES = 1 << 16  # of a flag


def read_target_metadata(engine: Engine, module: ModuleRef, trust: Iterable[str]) -> str:
    """The target of a module as text, checked. Raises as `LLVMTarget.get_target_metadata` does."""
    accepted = trusting(engine, trust)
    whose = f"the target of {called(module_label(engine.image, module))}"
    where = f"cannot read {whose}"
    try:
        room = Room(_MOST_OPERANDS, _MOST_BYTES)
        flags = read_named(engine.image, module, _FLAGS, 1, _MOST_FLAGS, room) or []
    except TooLargeError as error:
        raise TargetError(
            f"{where}: at most {_MOST_FLAGS:,} flags are read, each of at most {_MOST_BYTES:,} bytes, but "
            f"{error}; write the target into the module again"
        ) from None
    found = [flag[2] for flag in flags if len(flag) == 3 and flag[1] == _KEY.encode()]
    text = _text(where, found[0]) if found else ""
    if not text.startswith(_TARGETS):
        triple = module.triple if names_architecture(module.triple) else ""
        return json.dumps({"kind": "llvm", "mtriple": triple})
    read_options(engine, _target(where, text), "exclusive", "skip", trust=accepted, whose=whose)
    return text


def write_target_metadata(module: ModuleRef, target: str) -> None:
    """Make `target` the target of a module. Raises TypeError if that is not one, OptctxError if closed."""
    write_flag(llvmlite_image(), module, _KEY, target)


def _target(where: str, text: str) -> Target:
    try:
        return Target(text)
    except TargetError as error:
        raise TargetError(f"{where}: {error}") from None


def _text(where: str, operand: object) -> str:
    if isinstance(operand, bytes):
        try:
            return operand.decode()
        except UnicodeDecodeError as error:
            raise TargetError(f"{where}: expected UTF-8 in the module flag {_KEY!r}: {error}") from None
    raise TargetError(f"{where}: expected text as the module flag {_KEY!r}, found {shown(operand)}")
