"""From where LLVM reads its options, and whether a context is at hand there."""
