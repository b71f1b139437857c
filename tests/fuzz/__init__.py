"""Any names and values, as mappings and as command lines: an error of ours or a context, and nothing else.

python -m tests.fuzz --help
"""
