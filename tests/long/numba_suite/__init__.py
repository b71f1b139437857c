"""Numba's own tests, stock, with optctx attached, and inside a scope (`make numba`)."""
