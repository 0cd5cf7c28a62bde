"""`certify`: a minimum or a saddle; and the step that leads down from a saddle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import attrs

from genorth.errors import StepTooLong, refuse
from genorth.geometry.gauge import horizontal, random_skew
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.product import Blockwise
from genorth.geometry.shaped import Front
from genorth.linalg.arrays import Array, as_like, namespace, norm, number
from genorth.linalg.inputs import as_generator
from genorth.problem.kkt import Cone
from genorth.problem.measure import VIOLATION, Measure
from genorth.problem.problem import Problem
from genorth.riemannian.run import OnManifold
from genorth.solve.certificate import SADDLE, UNDECIDED, Certificate, Gauge, verdict
from genorth.solve.monitor import Stop
from genorth.solve.run import Iterate, Preconditioner

_LIMIT = 40  # Hessian products of a certificate
_STATIONARY = 1e-4, 1e-6  # the norm of the gradient, and relative to the Euclidean one
_NEAR = 1e-8  # |C(x)|, relative, of a point that is on M
_FIRST, _SHARE, _TRIALS = 0.3, 0.1, 12  # of a step down: its length relative to |X|, the least fall


def certify(
    problem: Problem,
    x: Any,
    *,
    tol: float | None = None,
    metric: Any = None,
    preconditioner: Preconditioner | None = None,
    max_products: int = _LIMIT,
    rng: Any = None,
) -> Certificate:
    """Decide whether a stationary point is a minimum or a saddle.

    Lanczos with full reorthogonalisation finds the smallest eigenvalue of hess f(x) on T_x M from
    Hessian products alone: those of the problem, or differences of gradients. "saddle" is a proof,
    as the Rayleigh quotient of a tangent vector is negative beyond the error of the products.
    "minimum" holds up to a small chance, which the certificate states. It says nothing of other
    minima. With further constraints the Hessian is that of the Lagrangian f + y^T c, on the
    critical cone: tangent Z with J_i Z = 0 for the active constraints.

    Args:
        problem: The problem.
        x: A stationary point on M, such as the `x` of a Result.
        tol: The largest norm of the Riemannian gradient of a stationary point. Default: the larger
            of 1e-4 and 1e-6 times that of the Euclidean gradient.
        metric: The eigenvalues are those in this inner product, as for `minimize`.
        preconditioner: `preconditioner(X, V)`, which makes Lanczos faster and leaves signs
            unchanged. Default: that of the problem.
        max_products: The largest number of Hessian products.
        rng: A seed or a Generator, for the start of Lanczos.

    Returns:
        The certificate. It is "undecided", with the reason, where x is not on M or not stationary.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    if not isinstance(problem, Problem):
        refuse("problem", "a genorth.Problem", type(problem).__name__)
    if problem.term is not None:
        refuse("problem", "a smooth problem", repr(problem))
    if not (isinstance(max_products, int) and max_products > 1):
        refuse("max_products", "an integer > 1", repr(max_products))
    given = problem.preconditioner if preconditioner is None and metric is None else preconditioner
    return examine(problem, x, tol, metric, given, limit=max_products, rng=rng)[0]


def examine(
    problem: Problem,
    x: Array,
    tol: float | None = None,
    metric: Any = None,
    preconditioner: Preconditioner | None = None,
    *,
    limit: int = _LIMIT,
    leave: bool = False,
    rng: Any = None,
    **budgets: Any,
) -> tuple[Certificate, Array | None]:
    """The certificate of x, and with `leave` a lower point of M near a saddle, if there is one."""
    x, manifold, outward = problem.start(x, on_device=True), problem.manifold, []
    if isinstance(manifold, Front):
        problem, x = problem.in_blocks, manifold.inward(x)
        outward.append(manifold.outward)
        if preconditioner is not None:
            preconditioner = manifold.mapped(preconditioner)
        if isinstance(metric, str) and metric == "auto":
            metric = None  # the weights were those of the start
        elif metric is not None and hasattr(manifold, "metrics"):
            metric = manifold.metrics(metric)
    if metric is not None:
        problem = problem.substitute(problem.manifold.metric(metric))
        T = problem.manifold.T
        x = T.solve(x)
        outward.insert(0, T.apply)
    at = Measure.at(problem, x, problem.evaluate(x))
    known: dict[str, Any] = {"verdict": UNDECIDED, "gradient_norm": at.stationarity}
    if not at.feasible(_NEAR):
        text = f"x is not on M: |C(x)| = {at.feasibility:.2g}."
        return Certificate(explanation=text, **known), None
    if tol is None:
        tol = max(_STATIONARY[0], _STATIONARY[1] * number(norm(at.G)))
    if not at.stationarity <= tol:
        text = f"x is not stationary: the gradient norm is {at.stationarity:.2g}, above {tol:.2g}."
        return Certificate(explanation=text, **known), None
    cone = None
    if at.kkt is not None:
        if not at.kkt.feasible(VIOLATION):
            return Certificate(explanation=f"{at.kkt}.", **known), None
        cone = Cone(problem, x, at.kkt.multipliers)
        problem, leave = cone.lagrangian(), False
        at = Measure.at(problem, x, problem.evaluate(x))
    run = OnManifold(problem, x, "certify", precondition=preconditioner, **budgets)
    try:
        point = Iterate(run, run.place(x), at.cost, at.G)
        found = _certificate(
            run, point, at.stationarity, limit, as_generator(rng).spawn(1)[0], cone
        )
        lower = _lower(run, point, found) if leave and found.verdict == SADDLE else None
    except (Stop, FloatingPointError) as error:
        return Certificate(explanation=f"No certificate: {error}", **known), None
    for apply in outward:
        if found.direction is not None:
            found = attrs.evolve(found, direction=apply(found.direction))
        lower = None if lower is None else apply(lower)
    return found, lower


def _certificate(
    run: OnManifold,
    point: Iterate,
    gradient_norm: float,
    limit: int,
    rng: Any,
    cone: Cone | None = None,
) -> Certificate:
    """What the Hessian at the point says, on the tangent space or on the critical cone."""
    start = point.place.project(as_like(run.manifold.random_ambient(rng), point.X))
    hessian, precondition = run.model(point)[1], run.precondition(point)
    gauges = list(_gauges(run.manifold, point.X, rng))
    how: dict[str, Any] = {
        "gradient_norm": gradient_norm,
        "dimension": run.dimension,
        "limit": limit,
        "exact": run.problem.has_hessian,
    }
    if cone is None:
        return verdict(hessian, precondition, start, **how, gauges=gauges)
    inside = cone.project
    found = verdict(
        lambda Z: inside(hessian(inside(Z))),
        precondition and (lambda V: inside(precondition(inside(V)))),
        inside(start),
        **how | {"dimension": run.dimension - cone.rank},
        gauges=[g for g in gauges if number(norm(g.along - inside(g.along))) <= _NEAR],
    )
    Z = found.direction
    if found.verdict == SADDLE and Z is not None and not (cone.allows(Z) or cone.allows(-Z)):
        text = "The curvature is negative along a line that leaves a bound in both directions."
        return attrs.evolve(found, verdict=UNDECIDED, explanation=text)
    return found


def _gauges(manifold: Any, X: Array, rng: Any) -> Iterator[Gauge]:
    """The gauge directions of M; on a product those of each factor, then those of several."""
    if not isinstance(manifold, Blockwise):
        yield from _own_gauge(manifold, X, rng)
        return
    points, parts = manifold.points, manifold.points.split(X)
    for k, (M, x) in enumerate(zip(manifold.factors, parts, strict=True)):
        for own in _own_gauge(M, x, rng):
            along = points.join([own.along if i == k else 0 * part for i, part in enumerate(parts)])

            def outside(Z: Array, k: int = k, own: Gauge = own) -> Array:
                split = enumerate(points.split(Z))
                return points.join([own.outside(z) if i == k else z for i, z in split])

            yield Gauge(along, own.dimension, outside)
    alike: dict[Any, list[int]] = {}
    for k, M in enumerate(manifold.factors):
        if isinstance(M, GenOrthManifold) and M.companion is not None and M.companion.trivial:
            alike.setdefault((M.shape[-1], M.dtype), []).append(k)
    for members in alike.values():
        yield _joint_gauge(manifold, X, members, rng)


def _joint_gauge(manifold: Blockwise, X: Array, members: list[int], rng: Any) -> Gauge:
    """One T for factors with psi = id and as many columns: f(X T, Y T) = f(X, Y).

    The equation of the complement is that of X, Y, ... stacked into one matrix.
    """
    M, split = manifold.factors[members[0]], manifold.points.split
    assert isinstance(M, GenOrthManifold)
    p = M.shape[-1]

    def stacked(V: Array) -> Array:
        parts = split(V)
        return namespace(V).concat([parts[k].reshape(-1, p) for k in members])

    def spread(rows: Array, V: Array) -> Array:
        parts, first = list(split(V)), 0
        for k in members:
            last = first + math.prod(parts[k].shape[:-1])
            parts[k], first = rows[first:last].reshape(parts[k].shape), last
        return manifold.points.join(parts)

    rows = stacked(X)
    apart = horizontal(M, rows)
    assert apart is not None
    along = spread(rows @ as_like(random_skew(M, rng).reshape(-1, p, p)[0], X), 0 * X)
    dimension = p * p if M.dtype.kind == "c" else p * (p - 1) // 2
    return Gauge(along, dimension, lambda Z: spread(apart(stacked(Z)), Z))


def _own_gauge(M: Any, X: Array, rng: Any) -> Iterator[Gauge]:
    """The gauge directions of one manifold, where they are known and there are some."""
    outside = horizontal(M, X) if isinstance(M, GenOrthManifold) else None
    if outside is not None:
        _, G, trace = M.dimensions()
        if trace < G:
            yield Gauge(X @ as_like(random_skew(M, rng), X), (G - trace) // 2, outside)


def _lower(run: OnManifold, point: Iterate, found: Certificate) -> Array | None:
    """The end of a step along the Ritz vector that decreases f as its curvature says."""
    Z = found.direction
    assert Z is not None
    Z = -Z if point.slope(Z) > 0 else Z
    step, t = run.line(point, Z), _FIRST * number(norm(point.X))
    for _ in range(_TRIALS):
        try:
            trial = step(t)
        except (StepTooLong, Stop):  # outside a domain, or a budget is used up
            trial = None
        if trial is not None and trial.value < point.value + _SHARE * found.eigenvalue * t * t / 2:
            return trial.X
        t /= 2
    return None
