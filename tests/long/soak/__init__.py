"""Random operations on threads, in forks and under signals; every result is compared with a known answer.

python -m tests.long.soak --help
"""
