"""Points in the plane, the line c + span U nearest to them, and the distances."""

import numpy as np

import genorth as go


def draw():
    from matplotlib.figure import Figure

    rng = np.random.default_rng(1)
    Y = np.outer(rng.uniform(-2, 2, 30), [0.9, 0.4]) + np.array([2.0, 1.0])
    Y += 0.25 * rng.standard_normal(Y.shape)

    def cost(U, c):
        D = Y - c
        return (np.sum(D**2) - np.sum((D @ U) ** 2)) / 2

    def gradient(U, c):
        D = Y - c
        return -D.T @ (D @ U), U @ (U.T @ D.sum(axis=0)) - D.sum(axis=0)

    problem = go.Problem(go.Product(U=go.Stiefel(2, 1), c=go.Euclidean(2)), cost, gradient)
    x = go.minimize(problem, rng=0).x
    centre = x.c + (Y.mean(axis=0) - x.c) @ x.U @ x.U.T  # c may be anywhere on the line
    feet = centre + (Y - centre) @ x.U @ x.U.T
    figure = Figure(figsize=(5.6, 3.0))
    axis = figure.subplots()
    ends = centre + np.array([[-2.4], [2.4]]) * x.U.T
    axis.plot(*ends.T, color="C1", label="c + span U")
    axis.plot(*np.stack([Y, feet], 1).transpose(2, 1, 0), color="C2", lw=1)
    axis.plot(*Y.T, "o", ms=3.5, color="C0", label="points")
    axis.set_aspect("equal")
    axis.legend(loc="lower right")
    return figure
