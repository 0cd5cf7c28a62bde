"""Four retractions on a hyperboloid, along one tangent vector; marks at equal steps t.

The tangent line leaves the surface, the curves stay on it. Near X they agree to second order.
"""

import matplotlib.pyplot as plt
import numpy as np

import genorth as go


def draw():
    M = go.HyperbolicStiefel(np.diag([1.0, 1.0, -1.0]), 1)
    X = np.array([[0.8], [-0.6], [0.0]])
    Z = np.array([[0.6], [0.8], [0.5]])  # tangent: X^T H Z = 0
    steps = np.linspace(-1.8, 1.8, 73)

    figure = plt.figure(figsize=(5.6, 4.4))
    ax = figure.add_subplot(projection="3d")
    angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, 49), np.linspace(-1.3, 1.3, 15))
    radius = np.sqrt(1 + height**2)
    surface = radius * np.cos(angle), radius * np.sin(angle), height
    ax.plot_surface(*surface, color="#9aa7b5", alpha=0.25, linewidth=0)
    ax.plot_wireframe(*surface, color="#808890", alpha=0.45, linewidth=0.4, rstride=2, cstride=3)
    for kind, marker in {"cayley": "o", "polar": "s", "exp": "^", "normal": "D"}.items():
        curve = np.stack([M.retract(X, t * Z, kind)[:, 0] for t in steps], axis=1)
        ax.plot(*curve, linewidth=1.5, marker=marker, markersize=5, markevery=12, label=kind)
    ax.plot(*(X + steps * Z), "--", color="#808890", label="X + tZ")
    ax.plot(*X, "o", color="#808890")
    ax.view_init(elev=22, azim=-40)
    ax.set_axis_off()
    ax.set_box_aspect((1, 1, 0.8), zoom=1.25)
    figure.legend(loc="outside upper center", ncols=5)
    return figure
