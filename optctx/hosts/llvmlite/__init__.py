"""llvmlite as a host: its library, its objects, its calls, and the order in which it frees."""

from optctx.hosts.llvmlite.ffi_calls import Watched, function_names
from optctx.hosts.llvmlite.library import LLVMLITE, llvmlite_image
from optctx.hosts.llvmlite.objects import llvm_context_address, target_machine_address
from optctx.hosts.llvmlite.tuning_options import settings_of

__all__ = [
    "LLVMLITE",
    "Watched",
    "function_names",
    "llvm_context_address",
    "llvmlite_image",
    "settings_of",
    "target_machine_address",
]
