import numpy as np

entry = "hash"


def arguments():
    draw = np.random.default_rng(4)
    return draw.integers(0, 1 << 32, (1024, 8), np.uint32), 42
