"""Hostile input that comes with a module: attributes, stamps, and sets of options that a module may set."""
