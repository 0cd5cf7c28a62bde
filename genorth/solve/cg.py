"""`cg`: conjugate gradients with Sato's combination of Fletcher-Reeves and Dai-Yuan."""

from __future__ import annotations

from genorth.linalg.arrays import Array, norm, number
from genorth.solve.descent import NoStep
from genorth.solve.run import Iterate, Run, largest_step
from genorth.solve.wolfe import Conditions


def cg(run: Run, conditions: Conditions | None = None) -> None:
    """Conjugate gradients on the places of a run [sato2022riemannian].

    Z <- -g + beta T(Z), g the gradient at the new point and T(Z) the velocity of the step at its
    end, not longer than Z, with

        beta = min(beta_FR, beta_DY),
        beta_FR = |g|^2/|g_old|^2,  beta_DY = |g|^2/(<g, T(Z)> - <g_old, Z>).

    With a preconditioner M^-1, d = P_X M^-1 g takes the place of g in Z, and <g, d> that of |g|^2.

    Z is replaced by -d where it is not a direction of descent, and where no step along it can be
    found. The first trial of each search is the last step times the ratio of the slopes, and not
    longer than X.

    Args:
        run: The run.
        conditions: The constants of the line search.
    """
    chosen = Conditions() if conditions is None else conditions
    point = run.start()
    D, fall = run.steepest(point)
    Z, slope, t = _downhill(run, point, D, fall)
    size = number(norm(Z))
    while True:
        try:
            trial, t = run.search(point, Z, slope, t, chosen, carries=True)
        except NoStep:
            if slope == -fall:
                return  # Z is the direction of steepest descent already
            Z, slope, t = _downhill(run, point, D, fall)
            size = number(norm(Z))
            continue
        run.accept(trial)
        scale, end = run.carried(trial, size)
        fall_old = fall
        D, fall = run.steepest(trial)
        beta = sato(fall, fall_old, end - slope)
        point, before = trial, slope
        Z = (beta * scale) * point.velocity - D
        slope = point.slope(Z)
        if not slope < 0:
            Z, slope = -D, -fall
        size = number(norm(Z))
        t = min(t * before / slope, largest_step(point, size))


def _downhill(run: Run, point: Iterate, D: Array, fall: float) -> tuple[Array, float, float]:
    """-D, its slope, and the first step along it."""
    Z = -D
    return Z, -fall, run.first_step(point, Z)


def sato(squared: float, squared_old: float, growth: float) -> float:
    """min(beta_FR, beta_DY), zero where the latter is not positive.

    Args:
        squared: <g, d>, |g|^2 without a preconditioner.
        squared_old: <g_old, d_old>.
        growth: <g, T(Z)> - <g_old, Z>.

    Returns:
        beta.
    """
    return squared / max(squared_old, growth) if growth > 0 else 0.0
