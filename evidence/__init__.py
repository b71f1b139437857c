"""The project's evidence: what holds, what it costs, and where LLVM reads its options. Runs from a clone.

`python -m evidence --help` lists the commands. `benchmarks`, `conformance` and `upstream` are programs of
their own; the Makefile has a target for each.
"""
