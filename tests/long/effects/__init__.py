"""Which options act as the attribute of one of two equal functions: stock LLVM in a fresh process decides."""
