"""Mistakes on purpose: each is built into a copy of the repository, and the core part of the tests must fail.

python -m tests.long.mutants --help
"""
