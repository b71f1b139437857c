"""llvmlite as a host: its library, its objects, its calls, and the order in which it frees."""

from optctx.hosts.llvmlite.llvmlite_host import llvmlite_image
from optctx.hosts.llvmlite.objects import llvm_context_address

__all__ = ["llvm_context_address", "llvmlite_image"]
