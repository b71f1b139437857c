"""The source-level prototype: patches for LLVM 19, and the driver that builds and measures them."""
