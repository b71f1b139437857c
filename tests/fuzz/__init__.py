"""Hostile input of every kind: names and values, attributes in modules, stamps, and folders of caches.

python -m tests.fuzz --help
"""
