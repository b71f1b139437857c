"""What options do to LLVM: each with hostile values, in a process that cannot reach outside."""
