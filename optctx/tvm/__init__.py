"""TVM's notation of targets: LLVM options in a target, and objects with the interfaces of TVM's.

    from optctx.tvm import LLVMInstance, LLVMTarget
    instance = LLVMInstance()
    with LLVMTarget(instance, "llvm -cl-opt=-unroll-count:uint=4") as target:
        ...  # LLVM code that this thread runs reads 4; the end restores the earlier values

Does not need TVM. Import it separately: `import optctx` does not import it.
"""

from optctx.tvm.instance import LLVMInstance, LLVMScope
from optctx.tvm.jit import LoadedObject
from optctx.tvm.llvm_target import LLVMTarget
from optctx.tvm.options import ClOption, from_target, parse_option_string
from optctx.tvm.target import Target
from optctx.tvm.target_info import LLVMTargetInfo

__all__ = [
    "ClOption",
    "LLVMInstance",
    "LLVMScope",
    "LLVMTarget",
    "LLVMTargetInfo",
    "LoadedObject",
    "Target",
    "from_target",
    "parse_option_string",
]
