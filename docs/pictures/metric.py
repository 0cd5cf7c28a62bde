"""The same solver from the same start, with the Euclidean metric and with that of B."""

import numpy as np

import genorth as go


def draw():
    rng = np.random.default_rng(0)
    n, p = 60, 3
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    B = (U * np.logspace(0, -5, n)) @ U.T  # condition number 1e5
    A = np.diag(np.linspace(1.0, 2.0, n))
    problem = go.Problem(
        go.GeneralizedStiefel((B + B.T) / 2, p), lambda X: -np.vdot(X, A @ X), lambda X: -2 * A @ X
    )
    runs = {
        name: go.minimize(
            problem, method="rlbfgs", metric=W, rng=0, tol=1e-4, max_evaluations=400, check=False
        )
        for name, W in {'metric="B"': "B", "Euclidean metric": None}.items()
    }
    axes = None
    for run in runs.values():
        axes = run.plot(axes, best=min(each.fun for each in runs.values()))
    axes[0].legend(runs)
    return axes[0].figure
