"""`lbfgs`: limited-memory BFGS on the places of a run; no pair is transported."""

from __future__ import annotations

import math
from time import perf_counter

from genorth.errors import refuse
from genorth.linalg.arrays import Array
from genorth.solve.descent import NoStep
from genorth.solve.pairs import Pairs
from genorth.solve.run import Iterate, Run
from genorth.solve.wolfe import Conditions

_CAUTION = 1e-8


def check_memory(memory: int) -> int:
    """The number of pairs, or an error."""
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 1:
        refuse("memory", "an integer, memory >= 1", repr(memory))
    return memory


def lbfgs(run: Run, memory: int = 10, conditions: Conditions | None = None) -> None:
    """Limited-memory BFGS [liu1989limited].

    The direction is -P_X H(g): H is the BFGS matrix of the last pairs S = X_new - X and
    Y = g_new - g, held in the ambient space, g the gradient, and P_X the projection onto the
    tangent space. H is symmetric and positive definite, and g = P_X g, hence
    <g, P_X H g> = <g, H g> > 0: the direction is one of descent. To carry all pairs along by
    projection, as is usual [huang2015broyden], costs 2 memory projections for each step and saves
    no iterations.

    H starts from the identity times <S,Y>/<Y,Y>, with a preconditioner from that, times
    <S,Y>/<Y, preconditioner(Y)>. A pair is stored only if <S,Y> > 1e-8 |S||Y| |g|/|g_0| (the
    cautious update of Li and Fukushima, without a unit). The first trial of each search is t = 1.

    Args:
        run: The run.
        memory: How many pairs are kept.
        conditions: The constants of the line search.
    """
    chosen, pairs = Conditions() if conditions is None else conditions, Pairs(memory)
    point = run.start()
    first = math.sqrt(point.decrease)
    while True:
        Z = _direction(run, pairs, point)
        slope = point.slope(Z)
        t = 1.0 if len(pairs) else run.first_step(point, Z)
        try:
            if not slope < 0:
                raise NoStep  # rounding
            trial, t = run.search(point, Z, slope, t, chosen)
        except NoStep:
            if not len(pairs):
                return
            pairs.clear()
            continue
        del Z
        trial.settle()
        run.accept(trial)
        caution = _CAUTION * math.sqrt(trial.decrease) / first
        pairs.add(trial.X, point.X, trial.gradient, point.gradient, caution)
        point = trial


def _direction(run: Run, pairs: Pairs, point: Iterate) -> Array:
    """-P_X H(g)."""
    first = run.inverse(point)
    if first is None and not len(pairs):
        return -point.gradient
    H = pairs.inverse(point.gradient, first)
    begin = perf_counter()
    Z: Array = point.place.split(-H)[0]  # a ray along it uses what is known of it
    run.seconds["projection"] += perf_counter() - begin
    return Z
