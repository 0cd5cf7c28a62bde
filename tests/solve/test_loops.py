"""The loops gd, cg, lbfgs and tr: written once, they run on places of M and of the whole space."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth.penalty.run import OnSpace
from genorth.riemannian import solvers
from genorth.solve import run
from genorth.solve.cg import cg
from genorth.solve.descent import gd
from genorth.solve.lbfgs import lbfgs
from genorth.solve.pairs import Pairs
from genorth.solve.tr import tr
from genorth.solve.wolfe import in_noise, parabola_slope, strong_wolfe
from support.problems import spd, trace

LOOPS = {"gd": gd, "cg": cg, "lbfgs": lbfgs, "tr": tr}


class _Done(Exception):
    pass


class _Quadratic:
    """<v, D v>/2 with eigenvalues 1 to 100 in place of a penalty; keeps trials and iterates."""

    scale = 100.0

    def __init__(self, n: int, iterations: int) -> None:
        self.D, self.last = np.linspace(1.0, 100.0, n), iterations
        self.manifold = SimpleNamespace(shape=(n,), dtype=np.dtype(float))
        self.iterates: list[Any] = []
        self.trials = 0
        self.tol = 0.0

    def point(self, v: Any) -> Any:
        return SimpleNamespace(X=v, violation=0.0, cost=None, gradient=None)

    def complete(self, point: Any) -> Any:
        self.trials += 1
        point.gradient = self.D * point.X
        point.cost = float(point.X @ point.gradient) / 2
        return point

    def value_at(self, point: Any) -> float:
        return point.cost

    def admits(self, point: Any) -> bool:
        return True

    def _derivative(self, point: Any, z: Any) -> Any:
        return self.D * z

    def watch(self, point: Any, gradient_norm: float) -> None:
        self.iterates.append(point.X)
        if len(self.iterates) > self.last:
            raise _Done

    # as a monitor

    noise = 0.0

    def check(self) -> None:
        pass

    def searched(self, found: bool) -> None:
        pass

    def iteration(self, *line: Any) -> None:
        pass


def _run(loop: Any, n: int = 30, iterations: int = 40) -> tuple[_Quadratic, list[Any]]:
    quadratic = _Quadratic(n, iterations)
    start = np.random.default_rng(0).standard_normal(n)
    with pytest.raises(_Done):
        loop(OnSpace(quadratic, quadratic, start))  # type: ignore[arg-type]
    return quadratic, quadratic.iterates


def _cosine(u: Any, v: Any) -> float:
    return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_runs_on_places_of_M_and_of_F_alike(name, monkeypatch):
    """One function is rgd on M, and minimises h and h_n on F."""
    called: list[str] = []

    def spy(run: Any, *constants: Any) -> None:
        called.append(type(run).__name__)
        LOOPS[name](run, *constants)

    assert getattr(solvers, name) is LOOPS[name]
    for prefix in ("cdf", "odf"):
        assert go.SOLVERS[f"{prefix}-{name}"].run.keywords["loop"] is LOOPS[name]  # type: ignore[attr-defined]
    monkeypatch.setattr(solvers, name, spy)
    A = spd(8, 10, 0)
    problem, best = trace(go.Stiefel(8, 2), A), np.linalg.eigvalsh(A)[:2].sum()
    for method in (f"r{name}", f"cdf-{name}", f"odf-{name}"):
        assert go.minimize(problem, method=method, rng=0).fun == pytest.approx(best, rel=1e-8)
    assert called == ["OnManifold"]


def test_directions_of_cg_are_those_of_sato():
    """Each step is along -g + beta d, beta = min(|g|^2/|g_old|^2, |g|^2/<g - g_old, d>)."""
    quadratic, points = _run(cg)
    d = -quadratic.D * points[0]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        old, g = quadratic.D * before, quadratic.D * here
        beta = min((g @ g) / (old @ old), (g @ g) / ((g - old) @ d))
        d = beta * d - g
        assert _cosine(after - here, d) == pytest.approx(1.0, abs=1e-10)


def test_directions_of_lbfgs_are_those_of_the_last_pairs():
    """Each step is along -H g, H the BFGS matrix of the pairs before."""
    quadratic, points = _run(lbfgs, iterations=25)
    pairs = Pairs(10)
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        pairs.add(here, before, quadratic.D * here, quadratic.D * before)
        d = -pairs.inverse(quadratic.D * here)
        assert _cosine(after - here, d) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("loop", [cg, lbfgs])
def test_the_first_step_is_one_over_the_curvature(loop):
    quadratic, points = _run(loop, iterations=1)
    assert points[1] == pytest.approx(points[0] - quadratic.D * points[0] / 100.0)
    assert quadratic.trials == 2


@pytest.mark.parametrize("loop", [cg, lbfgs])
def test_most_steps_take_one_evaluation(loop):
    """A search begins with the last step times the ratio of the slopes, or with t = 1."""
    quadratic, points = _run(loop, iterations=60)
    assert quadratic.trials <= 1.35 * len(points)
    assert np.linalg.norm(points[-1]) < 1e-3 * np.linalg.norm(points[0])


@pytest.mark.parametrize("method", ["cdf-cg", "odf-cg"])
def test_fewer_evaluations_than_scipys_cg(method):
    d = np.linspace(1.0, 300.0, 40)
    problem = trace(go.SymplecticStiefel(40, 6), np.diag(d))
    start = problem.manifold.random_point(0)
    ours = go.minimize(problem, start, method=method, tol=1e-8)
    theirs = go.minimize(problem, start, method=f"{method}-scipy", tol=1e-8)
    assert ours.success and ours.evaluations < theirs.evaluations
    assert ours.fun == pytest.approx(theirs.fun, rel=1e-10)


def test_a_geometry_is_chosen_by_structure():
    problem = trace(go.Stiefel(4, 2), spd(4, 10, 0))
    with pytest.raises(ValueError, match=r"^geometry: .*by the structure"):
        go.minimize(problem, method="rlbfgs", geometry="fast")


def test_slopes_of_trials_are_exact_but_where_a_parabola_is_sure(monkeypatch):
    """A guess keeps the second condition by far; no slope is guessed where costs are rounding."""
    kinds = []

    def spy(curve, value, slope, step, conditions, unit):
        def seen(t):
            found, end, trial = curve(t)
            exact = float(np.vdot(trial.G, trial._ray.velocity(t)))
            guessed = end == parabola_slope(value, slope, t, found)
            noisy = in_noise(value, found, unit)
            kinds.append((guessed, noisy))
            if guessed:
                assert abs(end) <= -conditions.curvature * slope / 2
            else:
                assert end == pytest.approx(exact, rel=1e-6, abs=1e-9 * abs(slope))
            assert not (guessed and noisy)
            return found, end, trial

        return strong_wolfe(seen, value, slope, step, conditions, unit)

    monkeypatch.setattr(run, "strong_wolfe", spy)
    for seed in range(3):
        problem = trace(go.Stiefel(20, 3), spd(20, 1e4, seed))
        go.minimize(problem, method="rlbfgs", rng=seed, tol=1e-9)
    guesses, noise = (sum(column) for column in zip(*kinds, strict=True))
    assert 0 < guesses < len(kinds) - noise
    assert noise > 0
