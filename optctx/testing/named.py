"""Names that the pytest plugin has in tests and in their configuration."""

MARK = "llvm_options"  # of a test, and the name of the fixture
INI = "llvm_options"
