"""Random programs on threads for as long as one likes: more than those of `make test`, and with more in them.

python -m tests.long.soak --help
"""
