"""What LLVM read: `record`, the fingerprint of what was read, and overrides that were not."""
