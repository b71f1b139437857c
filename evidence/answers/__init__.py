"""The commands on the pages of design/upstream: found, parsed as their programs parse them, and run.

python -m evidence.answers --help
"""
