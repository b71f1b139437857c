import numpy as np

entry = "stencil"
tolerance = 1e-5, 1e-6  # the order of sums changes with the options


def arguments():
    draw = np.random.default_rng(3)
    return draw.random((32, 128), np.float32), np.zeros((32, 128), np.float32), 0.125
