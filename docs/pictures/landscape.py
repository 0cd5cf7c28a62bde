"""f, h and h_n from a minimum along a normal and along a tangent direction.

Along the normal, f falls through the manifold while h and h_n have their minimum on it, h the
steeper one; along the tangent all three agree for short steps.
"""

import matplotlib.pyplot as plt
import numpy as np

import genorth as go


def draw():
    M = go.SymplecticStiefel(12, 2)
    B = M.random_ambient(rng=3)
    problem = go.Problem(M, lambda X: ((X - B) ** 2).sum() / 2, lambda X: X - B, lambda X, Z: Z)
    x = go.minimize(problem, rng=0).x
    h = go.ConstraintDissolving(problem, 1.5 * go.exactness_threshold(problem, x))
    h_n = go.OrthogonalDissolving(problem, 1.0)

    tangent = M.random_tangent(x, rng=1)
    normal = M.random_ambient(rng=2)
    normal -= M.project(x, normal)
    steps = np.linspace(-0.8, 0.8, 81)
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.0), sharey=True)
    for ax, D, title in zip(axes, (normal, tangent), ("normal direction", "tangent direction")):
        D = D / M.norm(D)
        lines = {
            "f": (problem.evaluate_cost, 5, 0.4),
            "h": (h.value, 2.5, 1),
            "h_n": (h_n.value, 1, 1),
        }
        for name, (value, width, alpha) in lines.items():
            heights = [value(x + t * D) - value(x) for t in steps]
            ax.plot(steps, heights, label=name, linewidth=width, alpha=alpha)
        ax.set(title=f"x + tD, D a {title}", xlabel="t", ylim=(-0.4, 1.6))
    axes[0].set_ylabel("value minus f(x)")
    axes[1].legend()
    return figure
