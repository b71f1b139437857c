"""The census of an LLVM: what is counted of its options, and the command that prints it."""
