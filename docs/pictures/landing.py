"""The flow of a landing method around the ellipse x^T B x = 1, with three of its runs.

Far from the ellipse the arrows point to it; near it they follow it to the minimum.
"""

import matplotlib.pyplot as plt
import numpy as np

import genorth as go
from baselines import landing


def draw():
    B, a = np.diag([1.0, 2.5]), np.array([[1.0], [0.6]])
    M = go.GeneralizedStiefel(B, 1)
    problem = go.Problem(M, lambda X: -np.vdot(a, X), lambda X: -a)

    def direction(X):  # -(F + lambda grad N), lambda = 1
        P = B @ X
        field = (-a * (P.T @ P) + P * (P.T @ a)) / 2
        return -field - M.constraint(X) * P

    figure, ax = plt.subplots(figsize=(5.6, 4.2))
    x, y = np.meshgrid(np.linspace(-1.5, 1.5, 31), np.linspace(-1.1, 1.1, 23))
    arrows = np.array([direction(np.array([[s], [t]]))[:, 0] for s, t in zip(x.flat, y.flat)])
    u, v = arrows.T.reshape(2, *x.shape)
    ax.streamplot(x, y, u, v, color="#8a94a0", density=1.1, linewidth=0.7, arrowsize=0.8)
    angle = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(angle), np.sin(angle) / np.sqrt(2.5), linewidth=2, label="the manifold")
    for number, start in enumerate(([-1.1, 0.1], [-0.5, -0.6], [-0.2, 0.45])):
        run = landing(
            problem,
            np.array(start)[:, None],
            eta=0.15,
            lam=1.0,
            keep_points=True,
            max_iterations=150,
        )
        path = np.array(run.trace.points)[:, :, 0]
        label = "runs of landing" if number == 0 else None
        ax.plot(*path.T, ".-", color="#d55e00", markersize=4, linewidth=1, label=label)
    ax.plot(*run.x, "*", color="#009e73", markersize=13, label="minimum")
    ax.set(aspect="equal", xlim=(-1.5, 1.5), ylim=(-1.1, 1.1), xlabel="x1", ylabel="x2")
    figure.legend(loc="outside upper center", ncols=3)
    return figure
