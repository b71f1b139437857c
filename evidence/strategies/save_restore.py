"""Set, compile, put back: registered options are changed for the process, as TVM does."""

from __future__ import annotations

import threading

from evidence.strategies.arguments import split
from evidence.strategies.scalars import Scalar, find_scalars
from evidence.strategies.strategy import Strategy
from optctx.errors import OptionTypeError, OptionValueError, UnknownOptionError
from optctx.fresh import Job, Result
from optctx.fresh.job import compile_unchecked
from optctx.hosts.llvmlite import llvmlite_image

__all__ = ["SaveRestoreStrategy"]

_BOOLS = {None: 1, "true": 1, "1": 1, "": 1, "false": 0, "0": 0}


class _Saved(threading.local):
    def __init__(self) -> None:
        self.values: list[list[tuple[Scalar, int]]] = []


class SaveRestoreStrategy(Strategy):
    """Keep the value of the registered object, store another one, put the first one back.

    As TVM's LLVMTarget and its `With<LLVMCLOption>`: the value alone is stored, past LLVM's parser, so the
    option still counts as not given. bool, int and unsigned only. TVM also lets a single object at a time
    change anything; here scopes nest, as its RFC proposed.
    """

    name = "save-restore"
    at_once = False
    source = "TVM, src/target/llvm/llvm_instance.cc (LLVMTarget::ApplyLLVMOptions); tvm-rfcs#83"

    def __init__(self) -> None:
        super().__init__()
        self._scalars: dict[str, Scalar] = {}
        self._saved = _Saved()

    def __enter__(self) -> SaveRestoreStrategy:
        self._scalars = find_scalars(llvmlite_image())
        return self

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        new = [self._change(argument) for argument in own]
        self._saved.values.append([(scalar, scalar.read()) for scalar, _ in new])
        for scalar, value in new:
            scalar.write(value)

    def _change(self, argument: str) -> tuple[Scalar, int]:
        name, text = split(argument)
        scalar = self._scalars.get(name)
        if scalar is None:
            raise UnknownOptionError(
                f"cannot set {name!r} as TVM does: no option of that name is registered", name
            )
        if not scalar.writable:
            raise OptionTypeError(
                f"cannot set {name!r} as TVM does: expected a bool, an int or a uint, found {scalar.kind}"
            )
        try:
            return scalar, _BOOLS[text] if scalar.kind == "bool" else scalar.checked(int(text or "", 0))
        except (KeyError, ValueError):
            raise OptionValueError(
                f"cannot set {name!r}: expected a value of type {scalar.kind}, found {text!r}"
            ) from None

    def _leave(self) -> None:
        for scalar, value in reversed(self._saved.values.pop()):
            scalar.write(value)

    def _compile(self, job: Job) -> Result:
        return compile_unchecked(job)
