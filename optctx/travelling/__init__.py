"""Values that go with what LLVM works on: LLVMContexts, functions, modules and files."""

from optctx.travelling.module_flags import module_called, read_module_flag, write_module_flag

__all__ = ["module_called", "read_module_flag", "write_module_flag"]
