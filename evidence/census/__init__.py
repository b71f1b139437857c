"""The census of an LLVM as tables and totals, as a picture, and as TableGen records."""
