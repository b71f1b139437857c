"""Values that go with what LLVM works on: LLVMContexts, functions, modules and files."""
