"""The four lowest modes of the ring: the constant, two waves of one period, one of two periods."""

import numpy as np

import genorth as go


def draw():
    from matplotlib.figure import Figure

    n, p = 60, 4

    def around(X, k):
        return np.roll(X, k, axis=0)

    def stiffness(X):
        return 2 * X - around(X, 1) - around(X, -1)

    ring = go.from_maps(
        (n, p), lambda X: (around(X, 1) + 4 * X + around(X, -1)) / 6, lambda T: T, definite=True
    )
    problem = go.Problem(
        ring, lambda X: float(ring.inner(X, stiffness(X))), lambda X: 2 * stiffness(X)
    )
    X = go.minimize(problem, rng=0).x
    values, turn = np.linalg.eigh(X.T @ stiffness(X))  # the minimiser is a basis of the modes
    figure = Figure(figsize=(7, 2.4))
    axis = figure.subplots()
    for value, mode in zip(values, (X @ turn).T, strict=True):
        axis.plot(mode, label=f"eigenvalue {abs(value):.4f}")
    axis.set(xlabel="node of the ring", ylabel="mode")
    figure.legend(loc="outside right center")
    return figure
