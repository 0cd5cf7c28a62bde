"""The Riemannian solvers and the registry.

Known minima from several starts, budgets, stops, bad input.
"""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numpy as np
import pytest

import genorth as go
from baselines import SOLVERS, rcg, rgd, rlbfgs, rtr
from baselines.geometry.base import CayleyRay, ManifoldRay
from baselines.geometry.faithful import Faithful
from baselines.geometry.fast import FastForm
from baselines.geometry.products import Products
from baselines.riemannian.rtr import Settings
from genorth.solve.descent import Settings as BBSettings
from paper_repro.problems import Matching
from support.known_minima import KNOWN

RIEMANNIAN = [
    (solver, geometry)
    for solver in (rgd, rcg, rlbfgs)
    for geometry in ("fast", "products", "faithful")
]
RIEMANNIAN += [(rtr, "fast"), (rtr, "faithful")]
IDS = [f"{solver.__name__}-{geometry}" for solver, geometry in RIEMANNIAN]
every_solver = pytest.mark.parametrize(("solver", "geometry"), RIEMANNIAN, ids=IDS)


# ---------------------------------------------------------------------- the registry, on problems
# with known answers


PROBLEMS = {family: make().problem() for family, make in KNOWN.items()}
REASONS = {
    (name, family): SOLVERS[name].why_not(problem)
    for name in SOLVERS
    for family, problem in PROBLEMS.items()
}


@pytest.mark.parametrize(
    ("name", "family"), [pair for pair, reason in REASONS.items() if reason is None]
)
def test_every_solver_reaches_the_known_minimum(name: str, family: str) -> None:
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
        assert result.method == name
        assert len(result.trace) == result.nit + 1


def test_only_cdopt_cannot_run_on_some_of_these_manifolds() -> None:
    without = {(name, family) for (name, family), reason in REASONS.items() if reason is not None}
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
def test_a_start_at_a_stationary_point_returns_at_once(name: str) -> None:
    known = KNOWN["stiefel"]()
    X = np.linalg.eigh(known.M)[1][:, :3]
    result = SOLVERS[name](known.problem(), X, tol=1e-8)
    assert result.success
    assert result.nit == 0
    assert result.fun == pytest.approx(known.minimum, rel=1e-12)


@pytest.mark.parametrize("name", [name for name in SOLVERS if REASONS[name, "symplectic"] is None])
def test_budgets_hold_in_every_solver(name: str) -> None:
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
def test_counts_are_what_the_user_saw(name: str) -> None:
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


def test_cdopt_leaves_the_global_random_state_as_it_was() -> None:
    if importlib.util.find_spec("cdopt") is None:
        pytest.skip("the extra `peers` is not installed")
    known = KNOWN["symplectic"]()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, two = (
        SOLVERS["cdopt-lbfgs"](known.problem(), known.manifold.random_point(0), rng=3)
        for _ in range(2)
    )
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert one.beta == two.beta
    assert (
        one.beta
        != SOLVERS["cdopt-lbfgs"](known.problem(), known.manifold.random_point(0), rng=4).beta
    )


def test_the_registry_says_what_a_solver_is() -> None:
    assert {s.family for s in SOLVERS.values()} == {"Riemannian", "penalty", "infeasible"}
    variants = {"cdf-gd": "cdf", "odf-lbfgs-lean": "odf-lean", "cdopt-lbfgs": "cdopt"}
    variants |= {name: name.split("-")[1] for name in ("rgd-faithful", "rcg-products", "rtr-fast")}
    for name, variant in (variants | {"pymanopt-cg": "pymanopt"}).items():
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
        if solver.algorithm == "tr":
            assert "no Hessian" in str(reason)
        else:
            assert reason is None or "genorth[peers]" in reason


@pytest.mark.parametrize("name", [name for name in SOLVERS if REASONS[name, "stiefel"] is None])
def test_every_solver_is_behind_the_front_door(name: str) -> None:
    """`go.minimize(method=...)` makes the same run; beta is for penalty methods alone."""
    known = KNOWN["stiefel"]()
    start = known.manifold.random_point(1)
    one = go.minimize(known.problem(), start, method=name, tol=1e-5, rng=0)
    two = SOLVERS[name](known.problem(), start, tol=1e-5, rng=0)
    assert one.success and one.method == two.method == name
    assert np.array_equal(one.x, two.x) and one.evaluations == two.evaluations
    if SOLVERS[name].family == "penalty":
        assert go.minimize(known.problem(), start, method=name, beta=7.0).beta == 7.0
    else:
        family = SOLVERS[name].family
        with pytest.raises(ValueError, match=f"^beta: need a penalty method; '{name}' is {family}"):
            go.minimize(known.problem(), start, method=name, beta=7.0)
    with pytest.raises(ValueError, match=r"^flavour: need an argument of .*tol.*; got 3"):
        go.minimize(known.problem(), start, method=name, flavour=3)


def test_what_the_name_of_a_solver_stands_for_is_fixed() -> None:
    known = KNOWN["stiefel"]()
    assert go.minimize(known.problem(), method="rlbfgs-fast", geometry="fast", memory=3).success
    with pytest.raises(ValueError, match=r"^geometry: need 'fast', which 'rlbfgs-fast' stands"):
        go.minimize(known.problem(), method="rlbfgs-fast", geometry="products")


# ---------------------------------------------------------------------- the geometries in a run


@pytest.mark.parametrize(
    "family", ["symplectic", "indefinite", "bilinear", "hyperbolic", "bilinear_skew"]
)
@pytest.mark.parametrize("solver", [rgd, rtr], ids=lambda solver: solver.__name__)
def test_faithful_and_fast_take_the_same_steps(solver: Any, family: str) -> None:
    """Both use the Cayley transform and the same projection.

    They differ by rounding, which grows from step to step. rcg and rlbfgs use slopes, and "fast"
    has those of the curve.
    """
    known = KNOWN[family]()
    start, settings = known.manifold.random_point(3), {"tol": 0, "max_iterations": 8}
    one, two = (
        solver(known.problem(), start, keep_points=True, **settings, **kind)
        for kind in ({"retraction": "cayley"}, {"geometry": "faithful"})
    )
    assert len(one.trace) == len(two.trace) == 9
    for X, Y in zip(one.trace.points or [], two.trace.points or [], strict=True):
        assert known.manifold.norm(X - Y) <= 1e-8 * known.manifold.norm(X)


@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if name.startswith(("rgd", "rcg", "rlbfgs"))]
)
def test_iterates_stay_on_the_manifold_over_a_thousand_iterations(name: str) -> None:
    problem = Matching.generate(20, 4, 2).problem()
    result = SOLVERS[name](
        problem, problem.manifold.random_point(1), tol=0, max_iterations=1000, keep_points=True
    )
    assert result.trace.points is not None
    assert len(result.trace.points) > 300  # some end before, where rounding leaves no step
    for X, violation in zip(result.trace.points, result.trace.feasibility, strict=True):
        assert violation == pytest.approx(
            float(problem.manifold.feasibility(X)), rel=1e-3, abs=1e-14
        )
        assert violation <= 1e-12 * problem.manifold.scale(X)


@every_solver
def test_a_step_outside_the_domain_is_shortened(solver: Any, geometry: str) -> None:
    """Min (y + 1)^2/2 on x^2 - y^2 = 1 from (1, 0), gradient (0, 1).

    T = 2 is the pole of the retraction.
    """
    M = go.HyperbolicStiefel([1.0, -1.0], 1)
    problem = go.Problem(
        M,
        lambda X: float((X[1, 0] + 1) ** 2 / 2),
        lambda X: np.array([[0.0], [X[1, 0] + 1]]),
        lambda X, Z: np.array([[0.0], [Z[1, 0]]]),
    )
    options: dict[str, Any] = {}
    if solver is rgd:
        options["settings"] = BBSettings(first_step=2.0)
    if solver is rtr:
        options["settings"] = Settings(first_radius=2.0, largest_radius=2.0)
    result = solver(problem, np.array([[1.0], [0.0]]), geometry=geometry, tol=1e-8, **options)
    assert result.success
    assert result.x[1, 0] == pytest.approx(-1.0, abs=1e-7)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("solver", [rgd, rcg, rlbfgs, rtr], ids=lambda solver: solver.__name__)
def test_what_leads_away_from_the_manifold_is_led_back(
    solver: Any, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step off M by 1e-7: led back at once where the ray says so, else every 16 iterations."""
    exact = CayleyRay.point

    def inexact(ray: CayleyRay, t: float) -> Any:
        return exact(ray, t)[0] * (1 + 1e-7), trusted

    monkeypatch.setattr(CayleyRay, "point", inexact)
    problem = Matching.generate(20, 4, 2).problem()
    start = problem.manifold.random_point(1)
    result = solver(problem, start, tol=1e-12, max_iterations=40, retraction="cayley")
    off = np.array(result.trace.feasibility) > 1e-9
    assert not off.any() if not trusted else not off[1::16].any() and off.any()
    assert result.feasibility <= 1e-12 * problem.manifold.scale(result.x)


@every_solver
def test_every_direction_is_tangent(
    solver: Any, geometry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = {"fast": FastForm, "products": Products, "faithful": Faithful}[geometry]
    ray, seen = kind.ray, []

    def watched(place: Any, Z: Any) -> Any:
        seen.append(
            float(place.manifold.tangency(place.X, Z) / place.manifold.norm(Z) / place.scale())
        )
        return ray(place, Z)

    monkeypatch.setattr(kind, "ray", watched)
    known = KNOWN["symplectic"]()
    solver(known.problem(), known.manifold.random_point(1), geometry=geometry, max_iterations=5)
    assert len(seen) >= 5  # later the gradient is small, and so is what it is relative to
    assert max(seen) <= 1e-12


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("after", [1, 3])
def test_an_error_of_the_cost_passes_through(name: str, after: int) -> None:
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


def test_a_thousand_halvings_are_a_stall_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: Any) -> Any:
        raise go.OutsideDomainError("never")

    monkeypatch.setattr(CayleyRay, "point", never)
    monkeypatch.setattr(ManifoldRay, "point", never)
    known = KNOWN["symplectic"]()
    for solver in (rgd, rcg, rlbfgs, rtr):
        result = solver(known.problem(), known.manifold.random_point(0))
        assert result.status is go.Status.STALLED
        assert result.nfev == 1


@pytest.mark.parametrize("geometry", ["fast", "products", "faithful"])
def test_the_stopping_measure_bounds_the_riemannian_gradient(geometry: str) -> None:
    """In "products" |w| >= |grad f|; in the others they are equal."""
    known = KNOWN["indefinite"]()
    result = rcg(known.problem(), known.manifold.random_point(1), geometry=geometry, tol=1e-6)
    assert result.stopping_measure <= 1e-6
    assert result.gradient_norm <= result.stopping_measure * (1 + 1e-6)
    if geometry != "products":
        assert result.gradient_norm == pytest.approx(result.stopping_measure, rel=1e-6)
    else:
        assert result.gradient_norm < result.stopping_measure * (1 - 1e-6)


@every_solver
def test_time_is_recorded_by_phase(solver: Any, geometry: str) -> None:
    known = KNOWN["symplectic"]()
    result = solver(known.problem(), known.manifold.random_point(1), geometry=geometry)
    seconds = result.seconds
    assert set(seconds) == {"cost", "gradient", "projection", "retraction", "transport"}
    used = {"cost", "gradient", "retraction"} | {
        rcg: {"transport"} if geometry == "faithful" else set(),
        rlbfgs: {"projection"},
        rtr: {"projection"},
    }.get(solver, set())
    assert {phase for phase, value in seconds.items() if value > 0} == used
    assert sum(seconds.values()) <= result.time


# ---------------------------------------------------------------------- the edges of a run


@every_solver
def test_nan_ends_the_run_with_the_best_iterate(solver: Any, geometry: str) -> None:
    known = KNOWN["indefinite"]()
    calls = 0

    def cost(X: Any) -> float:
        nonlocal calls
        calls += 1
        return math.nan if calls > 4 else float(np.vdot(X, known.M @ X))

    problem = go.Problem(
        known.manifold, cost, lambda X: 2 * known.M @ X, lambda X, Z: 2 * known.M @ Z
    )
    result = solver(problem, known.manifold.random_point(0), geometry=geometry)
    assert result.status is go.Status.NOT_FINITE
    assert result.fun == min(result.trace.cost)
    assert result.fun == pytest.approx(float(np.vdot(result.x, known.M @ result.x)), rel=1e-12)
    assert all(map(math.isfinite, result.trace.gradient_norm))


def test_the_best_iterate_need_not_be_the_last_one() -> None:
    """Costs 5, 3, 4, NaN, all of them accepted by a search of one trial."""
    costs = iter([5.0, 3.0, 4.0, math.nan])
    problem = go.Problem(go.Stiefel(5, 2), lambda X: next(costs), lambda X: np.ones_like(X))
    result = rgd(
        problem, problem.manifold.random_point(0), settings=BBSettings(trials=1), keep_points=True
    )
    assert result.status is go.Status.NOT_FINITE
    assert result.trace.cost == [5.0, 3.0, 4.0]
    assert result.fun == 3.0
    assert result.trace.points is not None
    assert np.array_equal(result.x, result.trace.points[1])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_ends_the_run(bad: float) -> None:
    known = KNOWN["symplectic"]()
    for solver, geometry in RIEMANNIAN:
        calls = 0

        def gradient(X: Any) -> Any:
            nonlocal calls
            calls += 1
            return np.full_like(X, bad) if calls > 2 else 2 * known.M @ X

        problem = go.Problem(
            known.manifold,
            lambda X: float(np.vdot(X, known.M @ X)),
            gradient,
            lambda X, Z: 2 * known.M @ Z,
        )
        result = solver(problem, known.manifold.random_point(0), geometry=geometry)
        assert result.status is go.Status.NOT_FINITE
        assert math.isfinite(result.fun) and math.isfinite(result.gradient_norm)


def test_a_hessian_that_is_not_finite_ends_the_run() -> None:
    known = KNOWN["symplectic"]()
    problem = go.Problem(
        known.manifold,
        lambda X: float(np.vdot(X, known.M @ X)),
        lambda X: 2 * known.M @ X,
        lambda X, Z: np.full_like(Z, math.nan),
    )
    result = rtr(problem, known.manifold.random_point(0))
    assert result.status is go.Status.NOT_FINITE and result.nfev == 1


def test_an_objective_that_raises_passes_its_exception_on() -> None:
    def cost(X: Any) -> float:
        raise KeyError("mine")

    problem = go.Problem(go.Stiefel(4, 2), cost, lambda X: X, lambda X, Z: Z)
    for solver, geometry in RIEMANNIAN:
        with pytest.raises(KeyError, match="mine"):
            solver(problem, geometry=geometry)


@every_solver
def test_a_start_near_the_manifold_is_restored_and_another_refused(
    solver: Any, geometry: str
) -> None:
    known = KNOWN["symplectic"]()
    X = known.manifold.random_point(0)
    result = solver(
        known.problem(), X + 1e-3, geometry=geometry, max_iterations=1, keep_points=True
    )
    assert result.trace.points is not None
    assert known.manifold.feasibility(result.trace.points[0]) <= 1e-12 * known.manifold.scale(X)
    with pytest.raises(go.NotRestorableError, match="x0: need a point near M"):
        solver(known.problem(), 0 * X, geometry=geometry)


@every_solver
def test_callback_and_random_start(solver: Any, geometry: str) -> None:
    known = KNOWN["symplectic"]()
    seen: list[go.Progress] = []

    def callback(progress: go.Progress) -> None:
        seen.append(progress)
        if progress.nit == 3:
            raise StopIteration

    result = solver(known.problem(), geometry=geometry, rng=5, callback=callback, tol=0)
    assert result.status is go.Status.CALLBACK
    assert [progress.nit for progress in seen] == [0, 1, 2, 3]
    assert np.array_equal(seen[-1].x, result.x)
    again = solver(
        known.problem(), known.manifold.random_point(5), geometry=geometry, tol=0, max_iterations=3
    )
    assert np.array_equal(again.x, result.x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"geometry": "slow"},
            "geometry: need one of 'faithful', 'fast', 'products'; got 'slow'",
        ),
        ({"tol": -1.0}, "tol"),
        ({"feasibility_tol": 0}, "feasibility_tol"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"x0": np.ones((2, 2))}, "x0: need an array of shape"),
    ],
)
def test_bad_arguments_are_refused(options: Any, message: str) -> None:
    known = KNOWN["stiefel"]()
    for solver in (rgd, rcg, rlbfgs, rtr):
        with pytest.raises(ValueError, match=message):
            solver(known.problem(), **options)


def test_what_a_solver_cannot_use_is_refused() -> None:
    M = go.Stiefel(5, 2)
    cost = go.Problem(M, lambda X: 0.0)
    first_order = go.Problem(M, lambda X: 0.0, lambda X: 0 * X)
    full = go.Problem(M, lambda X: 0.0, lambda X: 0 * X, lambda X, Z: 0 * Z)
    with pytest.raises(ValueError, match="a gradient"):
        rgd(cost)
    with pytest.raises(ValueError, match="euclidean_hessian"):
        rtr(first_order)
    with pytest.raises(ValueError, match="'fast' or 'faithful'"):
        rtr(full, geometry="products")
    with pytest.raises(ValueError, match="memory"):
        rlbfgs(full, memory=0)
    for solver in (rlbfgs, rtr):
        with pytest.raises(ValueError, match="preconditioner"):
            solver(full, preconditioner=3)
    with pytest.raises(ValueError, match=r"genorth\.Problem"):
        rgd("problem")  # type: ignore[arg-type]
    blocks = go.from_maps((3, 4, 2), lambda X: np.arange(1.0, 5)[:, None] * X, lambda T: T)
    with pytest.raises(ValueError, match="single matrices"):
        rgd(go.Problem(blocks, lambda X: 0.0, lambda X: 0 * X), geometry="faithful")
