"""Names that the pytest plugin has in tests, in their configuration and in their reports."""

MARK = "llvm_options"  # of a test, and the name of the fixture and of the setting
UNREAD = "llvm_unread"  # of a test's report, which reaches xdist's controller and JUnit files
