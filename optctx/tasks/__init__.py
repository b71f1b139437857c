"""The scope that a task is in, kept in line with its thread; problems left to the call that runs LLVM."""
