"""The census of an LLVM as tables and totals, and as TableGen records."""
