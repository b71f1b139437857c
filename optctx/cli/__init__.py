"""The `optctx` command."""
