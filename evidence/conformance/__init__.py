"""LLVM's own regression tests as the judge: scoped options against a fresh process, byte for byte.

python -m evidence.conformance --help
"""
