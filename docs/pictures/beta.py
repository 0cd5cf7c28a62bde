"""Evaluations of cdf-lbfgs over beta / threshold: many for a large beta, no minimum for a small."""

import numpy as np

import genorth as go


def draw():
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 40))
    A = A @ A.T / 40 + np.eye(40)
    manifold = go.SymplecticStiefel(40, 6)
    problem = go.Problem(manifold, lambda X: float(np.vdot(X, A @ X)), lambda X: 2 * A @ X)
    start = manifold.random_point(rng=0)
    auto = go.minimize(problem, start, method="cdf-lbfgs")
    threshold = go.exactness_threshold(problem, auto.x)
    factors = np.logspace(-1, 3, 17)
    runs = [go.minimize(problem, start, method="cdf-lbfgs", beta=k * threshold) for k in factors]
    figure = Figure(figsize=(6, 2.6))
    axis = figure.subplots()
    solved = np.array([run.success for run in runs])
    count = np.array([run.evaluations for run in runs])
    axis.loglog(factors[solved], count[solved], "o-", label="fixed beta")
    lost = factors[~solved]
    axis.plot(lost, np.full(lost.shape, count[solved].min()), "x", color="C1", label="not solved")
    axis.plot(auto.beta / threshold, auto.evaluations, "D", color="C2", label='beta="auto"')
    axis.axvline(1, ls=":", color="C3", label="threshold")
    axis.set(xlabel="beta / threshold", ylabel="evaluations")
    figure.legend(loc="outside right center")
    return figure
