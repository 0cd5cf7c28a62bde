r"""
1. Solve a problem
==================

A problem of genorth is a manifold and a cost. Here the cost is
:math:`f(X) = \mathrm{tr}(X^\top A X)`, with :math:`A` the Laplacian of a path with 60 nodes, over
:math:`X^\top X = I`. The minimisers span the three smoothest modes of the path.
"""

import matplotlib.pyplot as plt
import numpy as np

import genorth as go

n, p = 60, 3
A = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
A[0, 0] = A[-1, -1] = 1.0

problem = go.Problem(
    go.Stiefel(n, p),
    cost=lambda X: float(np.vdot(X, A @ X)),
    euclidean_gradient=lambda X: 2 * A @ X,
    euclidean_hessian=lambda X, Z: 2 * A @ Z,
)

# %%
# The gradient and the Hessian product are those in the whole space of matrices; genorth projects
# them. A check compares them with differences:

print(go.check_gradient(problem, rng=0))

# %%
# ``go.minimize`` chooses the solver, here Riemannian trust regions, and certifies that the point it
# has found is a minimum and not a saddle.

result = go.minimize(problem, rng=0)
print(result)

# %%
# ``result.x`` is on the manifold. The minimum is the sum of the smallest eigenvalues of :math:`A`:

print(f"found {result.fun:.12f}, by eigenvalues {np.linalg.eigvalsh(A)[:p].sum():.12f}")

# %%
# The columns of ``result.x`` are a basis of the space of modes; a small eigenvalue problem turns
# them into the modes themselves.

modes = result.x @ np.linalg.eigh(result.x.T @ A @ result.x)[1]
_, ax = plt.subplots(figsize=(6, 3))
ax.plot(modes)
ax.set(xlabel="node", title="the smoothest modes of a path")
plt.show()

# %%
# Any solver can be named: ``"rlbfgs"`` is L-BFGS on the manifold, ``"odf-lbfgs"`` L-BFGS on a
# penalty, the orthogonal dissolving function (odf), away from the manifold. ``result.plot`` shows
# the convergence; pass the axes on to compare two runs.

on_manifold = go.minimize(problem, method="rlbfgs", rng=0)
by_penalty = go.minimize(problem, method="odf-lbfgs", rng=0)
axes = on_manifold.plot(best=result.fun)
by_penalty.plot(axes, best=result.fun)
plt.show()

# %%
# :doc:`/running` has progress, budgets and Ctrl-C, :doc:`/choosing` helps you choose a solver.
# Next: :doc:`plot_2_constraint`.
