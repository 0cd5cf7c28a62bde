"""What users write today for a nonsmooth term: a smoothing loop, and Adam with subgradients.

Both see r through Moreau's envelope, for `genorth.L1` Huber's function, with the gradient
(X - prox_{sr}(X))/s, which is a subgradient of r at prox_{sr}(X).
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

import genorth as go
from genorth.linalg.arrays import Array
from genorth.optional import installed, missing, optional
from genorth.penalty.threshold import exactness_threshold
from genorth.problem.measure import generalised_gradient_norm
from genorth.problem.problem import Problem
from genorth.problem.proximal import natural_step
from genorth.solve.ending import end_at, outcome, result
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status
from genorth.solve.solver import PENALTY, SOLVERS
from genorth.splitting import Envelope, Split

_EVERY, _ITERATIONS = 100, 100  # steps of Adam that are one iteration, and at most so many
_SMALL = 1e-6  # s of the envelope, relative to the t of the stopping measure
_SAFETY = 2.0  # beta over the exactness threshold at the start


def smooth(problem: Problem) -> str | None:
    """Why there is nothing to smooth; None where there is."""
    return "the problem has no nonsmooth term" if problem.term is None else None


def torch_reason(problem: Problem) -> str | None:
    """Why Adam cannot run; None where it can."""
    if problem.manifold.dtype.kind == "c":
        return "it is connected here for real entries only"
    reason = f"it needs {missing('torch', 'torch')}"
    return smooth(problem) or (None if installed("torch") else reason)


def smoothing(problem: Problem, x0: Any = None, **common: Unpack[Common]) -> Result:
    """Minimise f + r over M by smoothing r more and more lightly [beck2012smoothing].

        f(X) + min over V of r(V) + |X - V|^2/(2s)

    is minimised by `rtr`, from the last solution, for s four times smaller each time.

    Args:
        problem: The problem, with a nonsmooth term.
        x0: Start near M, which is restored. Default: a random point of M.
        **common: The arguments of every solver, see `genorth.minimize`; tol is on |Z|/t.

    Returns:
        The result; `x` is on M.
    """
    require(problem, "smoothing", nonsmooth=True)
    split = Split(False, problem, SOLVERS["rtr"], Options(**common), {})
    return split.solve(problem.start(x0, split.options.rng))


def subgradient_adam(
    problem: Problem, x0: Any = None, *, lr: float = 1e-2, **common: Unpack[Common]
) -> Result:
    """Minimise the dissolved f + r by PyTorch's Adam with subgradients [hu2024nonsmooth].

        f(A(X)) + r(A(X)) + beta/2 |C(X)|^2

    is exact for large beta (F24). An iteration is 100 steps; the learning rate falls to zero like a
    cosine over `max_iterations`, at most 100. Subgradients do not vanish at a solution, so that no
    run comes near a tol of 1e-6: it ends after these steps, and x is restored to M.

    Args:
        problem: The problem, with a nonsmooth term.
        x0: Start near M. Default: a random point of M.
        lr: The first learning rate.
        **common: The arguments of every solver, see `genorth.minimize`; tol is on |Z|/t.

    Returns:
        The result; `x` is on M.
    """
    require(problem, "Adam", nonsmooth=True)
    torch = optional("torch", "torch", "Adam")
    options = Options(**common)
    start = np.asarray(problem.manifold.restore(problem.start(x0, options.rng)))
    X = torch.from_numpy(start.copy()).requires_grad_()
    adam = torch.optim.Adam([X], lr=lr)  # the first one of a process imports for seconds
    monitor = Monitor(problem, options)
    last = start

    def loop() -> None:
        nonlocal last
        G = problem.evaluate_gradient(start)
        t = natural_step(start, G, problem.term(start))
        inner = Envelope(problem, 0 * start, 1 / (_SMALL * t)).smooth()
        beta = _SAFETY * float(np.max(exactness_threshold(inner, start)))
        h = go.ConstraintDissolving(inner, max(beta, 1 / t))
        iterations = min(options.max_iterations or _ITERATIONS, _ITERATIONS)
        steps = _EVERY * iterations
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
        _report(monitor, last)
        for k in range(1, steps + 1):
            monitor.check()
            X.grad = torch.from_numpy(h.gradient(X.detach().numpy()))
            adam.step()
            schedule.step()
            if k % _EVERY == 0:
                last = X.detach().numpy().copy()
                _report(monitor, last)
        raise Stop(Status.ITERATION_LIMIT)

    status = outcome(loop).status
    end = end_at(monitor, last, start)
    return result(monitor, status, end, family=PENALTY, method="subgradient-adam")


def _report(monitor: Monitor, X: Array) -> None:
    """An iterate, measured with the clock stopped; off M the tangent space is that of A(X)."""
    problem = monitor.problem.fresh()
    with monitor.paused():
        violation = float(problem.manifold.feasibility(X))
        near = problem.manifold.dissolve(X)
        value, G = problem.objective(near), problem.euclidean_gradient(near)
        measure = generalised_gradient_norm(problem, near, G)
    monitor.iteration(X, value, max(measure, violation), violation)
