"""Hostile input of every kind: names and values, attributes in modules, stamps, damaged caches, sets of
options that a module may set.

python -m tests.long.fuzz --help
"""
