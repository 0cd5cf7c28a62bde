"""A run that starts at a saddle: f over the iterations, and f along the way down."""

import matplotlib.pyplot as plt
import numpy as np

import genorth as go


def draw():
    A = np.diag(np.arange(1.0, 11.0))
    problem = go.Problem(
        go.Stiefel(10, 3), lambda X: np.vdot(X, A @ X) / 2, lambda X: A @ X, lambda X, Z: A @ Z
    )
    M, saddle = problem.manifold, np.eye(10)[:, [0, 1, 4]]
    way = go.certify(problem, saddle, rng=0).direction
    run = go.minimize(problem, saddle)

    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0))
    steps = np.linspace(-0.8, 0.8, 41)
    along = [problem.evaluate_cost(M.retract(saddle, t * way)) for t in steps]
    left.plot(steps, along)
    left.plot(0, problem.evaluate_cost(saddle), "o")
    left.set(title="along certificate.direction", xlabel="t", ylabel="f")
    right.plot(run.trace.cost, ".-")
    right.set(title="during go.minimize", xlabel="iteration")
    return figure
