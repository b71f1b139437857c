"""Hostile input of every kind: names and values, attributes in modules, stamps, folders of caches, sets of
options that a module may set.

python -m tests.long.fuzz --help
"""
