"""A cache of compiled code, keyed by what its compilation read."""
