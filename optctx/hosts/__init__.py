"""What brings an LLVM into the process, and what only it knows about that LLVM."""
