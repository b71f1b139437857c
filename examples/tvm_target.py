"""The LLVM options of a TVM target on a thread: `cl-opt`, a list of `-name[[:type]=value]`.

TVM sets these options for the process and lets one target at a time change any. Here each target is an
`OptionContext`, so threads compile for different targets at once. Needs no TVM.

Run it: python examples/tvm_target.py
"""

from __future__ import annotations

import json
import pathlib
from concurrent.futures import ThreadPoolExecutor

import llvmlite.binding as llvm

from optctx import OptionContext, OptionTypeError, registry, run_passes

KERNEL = pathlib.Path(__file__).with_name("kernel.ll").read_text()
# The types of the notation, and what LLVM may have registered. TVM casts the option without asking.
TYPES = {"bool": {"bool"}, "int": {"int", "uint"}, "uint": {"int", "uint"}, "string": {"string"}}


def options_of(target: str) -> OptionContext:
    """Make a context of the options of a target, which is JSON as `str(tvm.target.Target)` writes it.

    Raises OptionTypeError for a type that is not the registered one, and what `OptionContext` raises.
    """
    arguments = []
    for text in json.loads(target).get("cl-opt", ()):
        option, _, value = text.partition("=")
        name, _, kind = option.lstrip("-").partition(":")
        arguments.append(f"-{name}={value or 'true'}")
        known = registry().get(name)  # OptionContext says which name is nearest to one that is unknown
        if known is not None and known.type not in TYPES.get(kind or "bool", ()):
            raise OptionTypeError(f"{text!r}: LLVM registered {name!r} as {known.type}, so write this type")
    return OptionContext.from_args(arguments)


def compiled(target: str) -> str:
    with options_of(target):
        module = llvm.parse_assembly(KERNEL, llvm.create_context())
        run_passes(module, "default<O2>")
    return f"{target}: {str(module).count('= load')} loads"


if __name__ == "__main__":
    targets = [json.dumps({"kind": "llvm", "cl-opt": [f"-unroll-count:uint={count}"]}) for count in (1, 2, 8)]
    with ThreadPoolExecutor(len(targets)) as pool:
        print(*pool.map(compiled, targets), sep="\n")
    try:
        options_of('{"kind": "llvm", "cl-opt": ["-unroll-count:string=4"]}')
    except OptionTypeError as error:
        print(error)
