"""Which of LLVM's own tests change under each proposed design of options.

python -m evidence.conformance.designs --help
"""
