r"""
2. Your own constraint
======================

We record :math:`n` sensors in two conditions, with covariances :math:`S_a` and :math:`S_b`. We
want :math:`p` mixtures of the sensors, the columns of :math:`X`, that tell the conditions apart.
Between the conditions, the power of mixture :math:`i` differs by a given :math:`r_i`
(:math:`r_i > 0` if it is stronger in the first one), and the differences are uncorrelated:

.. math:: X^\top (S_a - S_b) X = R, \qquad R = \mathrm{diag}(r_1, \dots, r_p).

Among all such :math:`X` we want the one with the least background noise,
:math:`f(X) = \mathrm{tr}(X^\top N X)`.

This page writes the constraint as a manifold, checks it, and solves the problem both ways.
"""

# %%
# The data: the covariances of two conditions that differ in a few sources, and of the noise.

import matplotlib.pyplot as plt
import numpy as np

import genorth as go

n, p = 32, 4
rng = np.random.default_rng(0)


def covariance(strengths):
    mixing = rng.standard_normal((n, len(strengths)))
    return (mixing * strengths) @ mixing.T / n


background = covariance(np.ones(n))
S_a = background + covariance([8.0, 5.0, 3.0, 2.0])
S_b = background + covariance([6.0, 4.0, 2.0, 1.0])
N = background + np.eye(n)

# %%
# From the constraint to two maps
# -------------------------------
#
# genorth takes constraints of the form :math:`X^\top\varphi(X) = I` with a linear, self-adjoint
# :math:`\varphi`. Multiply ours by :math:`R^{-1}` from the right: :math:`\varphi(X) = A X R^{-1}`
# with :math:`A = S_a - S_b`. As :math:`\varphi` acts on the columns of :math:`X` too, it needs a
# companion :math:`\psi` with :math:`\varphi(XT) = \varphi(X)\psi(T)`. Suppose we overlook it and
# pass the identity instead:

signs = np.where(np.arange(n) < n // 2, 1.0, -1.0)
A = S_a - S_b + 0.1 * np.diag(signs)  # regularised, so that it is nonsingular
r = np.array([2.0, 1.0, -1.0, -2.0])

hasty = go.from_maps((n, p), phi=lambda X: A @ X / r, psi=lambda T: T, name="contrast")
print(go.check_assumptions(hasty, rng=0))

# %%
# The failing lines show the mistake:
# :math:`\varphi(XT) = A X T R^{-1} = A X R^{-1}\,(R T R^{-1})`, so :math:`\psi(T) = R T R^{-1}`.

M = go.from_maps((n, p), phi=lambda X: A @ X / r, psi=lambda T: r[:, None] * T / r, name="contrast")
print(go.check_assumptions(M, rng=0))

# %%
# Now we have a manifold, with projections, retractions and random points.

X = M.random_point(rng=0)
print(f"dimension {M.dim}, Theta by {M.theta_solver.name}")
print(f"|C(X)| = {M.feasibility(X):.1e}")
print(np.round(X.T @ A @ X, 12) + 0.0)

# %%
# The problem
# -----------
#
# The cost, its gradient and its Hessian product are functions of any :math:`X`, on the manifold or
# not. A check shows whether they are consistent: the error of the first-order expansion must fall
# with the square of the step.


def cost_and_gradient(X):
    NX = N @ X
    return float(np.vdot(X, NX)), 2 * NX


def hessian(X, Z):
    return 2 * N @ Z


problem = go.Problem(
    M, cost_and_gradient=cost_and_gradient, euclidean_hessian=hessian, name="contrast"
)
report = go.check_gradient(problem, rng=0)
print(report)
_, ax = plt.subplots()
report.plot(ax)
plt.show()

# %%
# Both families
# -------------
#
# A penalty method leaves the manifold. An unconstrained solver minimises
#
# .. math:: h(X) = f(\mathcal{A}(X)) + \frac{\beta}{2}\lVert X^\top\varphi(X) - I\rVert^2,
#           \qquad \mathcal{A}(X) = \tfrac{3}{2}X - \tfrac{1}{2}X\varphi(X)^\top X,
#
# and the solution is restored to the manifold. genorth chooses :math:`\beta` at the start and
# checks it at the end against the sharp threshold above which :math:`h` is exact. The method
# ``"cdf-lbfgs"`` minimises :math:`h`, the paper's constraint dissolving function (cdf), by L-BFGS.

by_penalty = go.minimize(problem, X, method="cdf-lbfgs", tol=1e-8)
print(by_penalty)

# %%
# A Riemannian solver stays on the manifold. If you name no method, ``go.minimize`` takes one of
# them, and the message says which and why.

on_manifold = go.minimize(problem, X, tol=1e-8)
print(on_manifold)

# %%
# For this problem linear algebra gives the minimum. Let :math:`\mu` be the eigenvalues of
# :math:`A v = \mu N v`. Each :math:`r_i` is paired with an eigenvector whose eigenvalue has its
# sign, the largest with the largest, and contributes :math:`r_i/\mu_i`.

L = np.linalg.cholesky(N)
mu = np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, A).T))
known = (np.array([2.0, 1.0]) / mu[[-1, -2]]).sum() + (np.array([-2.0, -1.0]) / mu[[0, 1]]).sum()
for result in (by_penalty, on_manifold):
    error = result.fun - known
    print(f"{result.method:12} f - known = {error:9.1e}, {result.evaluations} evaluations")

# %%
# :doc:`/custom-manifold` has more on :math:`\varphi` and :math:`\psi`, and the same as a class.
# Next: :doc:`plot_3_compare`.
