"""Every solver of the registry, ours and those that it is compared with.

Known minima from several starts, budgets, counts, the front door.
"""

import importlib.util
import itertools
from typing import Any

import numpy as np
import pytest

import genorth as go
from baselines import SOLVERS
from paper_repro.problems import Matching
from support.known_minima import KNOWN

PROBLEMS = {family: make().problem() for family, make in KNOWN.items()}
REASONS = {
    (name, family): SOLVERS[name].why_not(problem)
    for name in SOLVERS
    for family, problem in PROBLEMS.items()
}


@pytest.mark.parametrize(
    ("name", "family"), [pair for pair, reason in REASONS.items() if reason is None]
)
def test_every_solver_reaches_the_known_minimum(name, family):
    """F - min f is of the order of |grad f|^2.

    CDOpt, which compares costs, may stall before |grad h| is at tol.
    """
    known, solver = KNOWN[family](), SOLVERS[name]
    for seed in range(2):
        result = solver(
            known.problem(),
            known.manifold.random_point(seed),
            tol=1e-6,
            rng=seed,
            max_iterations=3000,
        )
        assert result.success or (
            name.startswith("cdopt") and result.status is go.Status.STALLED
        ), result
        assert abs(result.fun - known.minimum) <= 1e-10 * known.minimum
        assert result.feasibility <= 1e-12 * known.manifold.scale(result.x)
        assert result.method == name or solver.chooses
        assert len(result.trace) == result.nit + 1
        assert result.margin is None or result.margin >= 1 - 1e-6


_PAIRS = list(itertools.combinations(KNOWN, 2))


def _pair(first: str, second: str) -> tuple[go.Problem, float]:
    """Two known problems and a free vector, whose minima add up."""
    one, two = KNOWN[first](), KNOWN[second]()
    product = go.Product(X=one.manifold, w=go.Euclidean(3), Y=two.manifold)
    centre = np.arange(3.0)

    def parts(function: str, *arguments: Any) -> list[Any]:
        X, _, Y = (arguments[i::3] for i in range(3))
        problems = one.problem(), two.problem()
        return [getattr(p, function)(*own) for p, own in zip(problems, (X, Y), strict=True)]

    def cost(X: Any, w: Any, Y: Any) -> float:
        return sum(parts("cost", X, w, Y)) + float(np.sum((w - centre) ** 2)) / 2

    def gradient(X: Any, w: Any, Y: Any) -> tuple[Any, ...]:
        of_X, of_Y = parts("euclidean_gradient", X, w, Y)
        return of_X, w - centre, of_Y

    def hessian(*both: Any) -> tuple[Any, ...]:
        of_X, of_Y = parts("euclidean_hessian", *both)
        return of_X, both[4], of_Y

    return go.Problem(product, cost, gradient, hessian), one.minimum + two.minimum


def _solves_the_pair(name: str, first: str, second: str) -> None:
    problem, minimum = _pair(first, second)
    reason = SOLVERS[name].why_not(problem)
    if reason is not None:
        assert any(word in reason for word in ("product", "installed", "has no "))
        return
    start = problem.manifold.random_point(0)
    result = SOLVERS[name](problem, start, tol=1e-6, max_iterations=3000)
    assert result.success, result
    assert abs(result.fun - minimum) <= 1e-10 * minimum
    assert result.x.w == pytest.approx(np.arange(3.0), abs=1e-5)


@pytest.mark.parametrize(("name", "pair"), [*zip(SOLVERS, itertools.cycle(_PAIRS), strict=False)])
def test_every_solver_reaches_the_minimum_on_a_product(name, pair):
    """Or gives its reason before any work."""
    _solves_the_pair(name, *pair)


@pytest.mark.slow
@pytest.mark.parametrize("pair", _PAIRS, ids="-".join)
@pytest.mark.parametrize("name", ["rlbfgs", "odf-lbfgs", "cdf-lbfgs", "landing"])
def test_a_solver_of_each_family_reaches_the_minimum_on_a_product_of_each_pair(name, pair):
    _solves_the_pair(name, *pair)


def test_only_cdopt_cannot_run_on_some_of_these_manifolds():
    some = {name for (name, _), reason in REASONS.items() if reason is None}  # smooth and free
    without = {pair for pair, reason in REASONS.items() if reason is not None and pair[0] in some}
    if importlib.util.find_spec("cdopt") is None:
        pytest.skip("the extra `peers` is not installed")
    own = {"stiefel", "generalized", "hyperbolic", "symplectic"}
    assert without == {
        (name, family)
        for name in SOLVERS
        if name.startswith("cdopt")
        for family in set(KNOWN) - own
    }


@pytest.mark.parametrize("name", [name for name in SOLVERS if REASONS[name, "stiefel"] is None])
def test_a_start_at_a_stationary_point_returns_at_once(name):
    known = KNOWN["stiefel"]()
    X = np.linalg.eigh(known.M)[1][:, :3]
    result = SOLVERS[name](known.problem(), X, tol=1e-8)
    assert result.success
    assert result.nit == 0
    assert result.fun == pytest.approx(known.minimum, rel=1e-12)


@pytest.mark.parametrize("name", [name for name in SOLVERS if REASONS[name, "symplectic"] is None])
def test_budgets_hold_in_every_solver(name):
    known = KNOWN["symplectic"]()
    start = known.manifold.random_point(0)
    for limit, status in (
        ({"max_iterations": 2}, go.Status.ITERATION_LIMIT),
        ({"max_evaluations": 7}, go.Status.EVALUATION_LIMIT),
        ({"max_time": 1e-9}, go.Status.TIME_LIMIT),
    ):
        result = SOLVERS[name](known.problem(), start, tol=0, **limit)
        assert result.status is status
        assert not result.success
        assert result.nit <= 2 or "max_iterations" not in limit
        # one more evaluation, at the x that is returned
        restored = SOLVERS[name].family != "Riemannian"
        assert result.evaluations <= 7 + restored or "max_evaluations" not in limit
        assert result.feasibility <= 1e-12 * known.manifold.scale(result.x)


@pytest.mark.parametrize("name", [name for name in SOLVERS if REASONS[name, "symplectic"] is None])
def test_counts_are_what_the_user_saw(name):
    known = KNOWN["symplectic"]()
    seen = {"cost": 0, "gradient": 0, "hessian": 0, "last": 0.0}

    def cost_and_gradient(X: Any) -> Any:
        seen["cost"] += 1
        seen["gradient"] += 1
        return float(np.vdot(X, known.M @ X)), 2 * known.M @ X

    def hessian(X: Any, Z: Any) -> Any:
        seen["hessian"] += 1
        return 2 * known.M @ Z

    problem = go.Problem(
        known.manifold, euclidean_hessian=hessian, cost_and_gradient=cost_and_gradient
    )
    result = SOLVERS[name](problem, known.manifold.random_point(0), max_iterations=5, tol=0)
    # f at the restored x, which the solver did not ask for
    measured = int(SOLVERS[name].family != "Riemannian")
    assert seen["cost"] - measured <= result.nfev <= seen["cost"]
    assert seen["gradient"] - measured <= result.njev <= seen["gradient"]
    assert result.nhev == seen["hessian"]


def test_the_registry_says_what_a_solver_is():
    assert {s.family for s in SOLVERS.values()} == {"Riemannian", "penalty", "infeasible"}
    variants = {
        "rtr": "",
        "rgd-paper": "paper",
        "pymanopt-cg": "pymanopt",
        "cdf-gd": "cdf",
        "odf-lbfgs": "odf",
        "odf-lbfgs-scipy": "odf-scipy",
        "cdopt-lbfgs": "cdopt",
    }
    for name, variant in variants.items():
        assert SOLVERS[name].variant == variant
        penalty = name.startswith(("cd", "odf"))
        assert SOLVERS[name].family == ("penalty" if penalty else "Riemannian")
        assert SOLVERS[name].algorithm in ("gd", "cg", "lbfgs", "tr") and SOLVERS[name].cites
    M = go.Stiefel(4, 2)
    without = go.Problem(M, lambda X: 0.0)
    first_order = go.Problem(M, lambda X: 0.0, lambda X: 0 * X)
    for solver in SOLVERS.values():
        assert "no gradient" in str(solver.why_not(without))
        reason = solver.why_not(first_order)
        assert reason is None or "genorth[peers]" in reason or "has no " in reason


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, solver in SOLVERS.items()
        if REASONS[name, "stiefel"] is None and solver.variant != "cdopt"
    ],
)
def test_infinity_at_a_trial_is_outside_the_domain(name: str) -> None:
    """A barrier: f = tr(X^T A X) - 0.1 sum log(1/2 - x_1j^2), infinite beyond."""
    M, A = go.Stiefel(10, 3), np.linspace(1.0, 5.0, 10)[:, None]

    def both(X: np.ndarray) -> tuple[float, np.ndarray]:
        room = 0.5 - X[0] ** 2
        if np.any(room <= 0):
            return np.inf, np.zeros_like(X)
        G = 2 * A * X
        G[0] += 0.2 * X[0] / room
        return float(np.vdot(X, A * X) - 0.1 * np.log(room).sum()), G

    start = next(
        X
        for X in (M.random_point(k) for k in range(100))
        if (X[0] ** 2 > 0.4).any() and (X[0] ** 2 < 0.5).all()
    )
    result = go.minimize(go.Problem(M, cost_and_gradient=both), start, method=name)
    assert result.success and result.fun < both(start)[0]
    assert (result.x[0] ** 2 < 0.5).all()


@pytest.mark.parametrize("name", [name for name in SOLVERS if REASONS[name, "stiefel"] is None])
def test_every_solver_is_behind_the_front_door(name):
    """`go.minimize(method=...)` makes the same run; beta is for penalty methods alone."""
    known = KNOWN["stiefel"]()
    start = known.manifold.random_point(1)
    one = go.minimize(known.problem(), start, method=name, tol=1e-5, rng=0, certify=False)
    two = SOLVERS[name](known.problem(), start, tol=1e-5, rng=0)
    assert one.success and one.method == two.method
    assert one.method == name or SOLVERS[name].chooses
    assert np.array_equal(one.x, two.x) and one.evaluations == two.evaluations
    if SOLVERS[name].family == "penalty" or name == "auto":
        assert go.minimize(known.problem(), start, method=name, beta=7.0).beta == 7.0
    else:
        family = SOLVERS[name].family
        with pytest.raises(ValueError, match=f"^beta: need a penalty method; '{name}' is {family}"):
            go.minimize(known.problem(), start, method=name, beta=7.0)
    with pytest.raises(ValueError, match=r"^flavour: need an argument of .*tol.*; got 3"):
        go.minimize(known.problem(), start, method=name, flavour=3)


@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if name.startswith(("rgd", "rcg", "rlbfgs"))]
)
def test_iterates_stay_on_the_manifold_over_a_thousand_iterations(name):
    problem = Matching.generate(20, 4, 2).problem()
    result = SOLVERS[name](
        problem, problem.manifold.random_point(1), tol=0, max_iterations=1000, keep_points=True
    )
    assert result.trace.points is not None
    assert len(result.trace.points) > 300  # some end before, where rounding leaves no step
    for X, violation in zip(result.trace.points, result.trace.feasibility, strict=True):
        # the trace is not measured anew where a step is known to end on M
        assert violation <= 1e-12 * problem.manifold.scale(X)
        assert problem.manifold.feasibility(X) <= 1e-12 * problem.manifold.scale(X)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("after", [1, 3])
def test_an_error_of_the_cost_passes_through(name, after):
    """Also one that is of the kind that a retraction raises, and which halves a step."""
    known = KNOWN["stiefel"]()
    problem = known.problem()

    def cost(X: Any) -> tuple[float, Any]:
        if problem.counts.nfev > after:
            raise go.OutsideDomainError("the user's own")
        return problem.evaluate(X)

    broken = go.Problem(
        known.manifold, None, None, problem.euclidean_hessian, cost_and_gradient=cost
    )
    if reason := SOLVERS[name].why_not(broken):
        pytest.skip(reason)
    with pytest.raises(go.OutsideDomainError, match="the user's own"):
        SOLVERS[name](broken, known.manifold.random_point(1))
