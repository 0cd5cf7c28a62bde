"""The convergence of two solvers: f minus its minimum, the gradient norm and |C(X)|."""

import numpy as np

import genorth as go


def draw():
    A = np.diag(np.arange(1.0, 41.0))
    problem = go.Problem(
        go.SymplecticStiefel(40, 6), lambda X: float(np.vdot(X, A @ X)), lambda X: 2 * A @ X
    )
    first = go.minimize(problem, method="rlbfgs", rng=0)
    second = go.minimize(problem, method="odf-lbfgs", rng=0)
    axes = first.plot(best=first.fun)
    second.plot(axes, best=first.fun)
    return axes[0].figure
