"""The project's evidence: what holds, what it costs, and where LLVM reads its options. Runs from a clone.

Its folders are programs, such as `python -m evidence.census`; the Makefile has a target for most.
"""
