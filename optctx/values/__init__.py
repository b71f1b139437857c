"""N0: every option that LLVM has registered, with its type, default and value; and values to give to it."""
