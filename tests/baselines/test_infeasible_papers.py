"""The infeasible methods make the iterates of their papers, written out a second time here.

From the papers and the authors' code: pierreablin/landing, simonvary/landing-stiefel and
landing-generalized-stiefel, adrianjav/pogo, the PCAL solver of Gao, Liu and Yuan, and
XinhuiXiong/SOLanding.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import genorth as go
from baselines import landing, landing_newton, plam, pogo
from baselines.infeasible.newton import Settings
from genorth.testing import conditioned_symmetric

Matrix = np.ndarray[Any, Any]
ITERATIONS = 20
N, P = 12, 4


class Example:
    """min tr(X^T A X D) over X^T B X = I; B = I is the Stiefel manifold."""

    def __init__(self, generalized: bool, seed: int) -> None:
        rng = np.random.default_rng(seed)
        W = rng.standard_normal((N, N))
        self.A, self.D = W @ W.T / N + np.eye(N), np.diag(np.linspace(1, 2, P))
        self.B = conditioned_symmetric(N, 5.0, rng) if generalized else np.eye(N)
        manifold = go.GeneralizedStiefel(self.B, P) if generalized else go.Stiefel(N, P)
        self.problem = go.Problem(
            manifold,
            lambda X: float(np.sum(X * (self.A @ X @ self.D))),
            self.gradient,
            lambda X, Z: self.hessian(Z),
        )
        self.start = 1.02 * manifold.random_point(rng)

    def gradient(self, X: Matrix) -> Matrix:
        return 2 * self.A @ X @ self.D

    def hessian(self, Z: Matrix) -> Matrix:
        return 2 * self.A @ Z @ self.D

    def agrees(self, points: list[Matrix], step: Callable[[Matrix], Matrix], start: Matrix) -> None:
        """The iterates are those of `step` from the start."""
        assert len(points) == ITERATIONS + 1
        X = start
        for point in points:
            assert np.linalg.norm(point - X) <= 1e-12 * np.linalg.norm(X)
            X = step(X)


def runs(method: Callable[..., go.Result], example: Example, **arguments: Any) -> list[Matrix]:
    arguments = {"x0": example.start, "tol": 0, "max_iterations": ITERATIONS} | arguments
    points = method(example.problem, keep_points=True, **arguments).trace.points
    assert points is not None
    return points


both = pytest.mark.parametrize("generalized", [False, True], ids=["stiefel", "generalized"])
seeds = pytest.mark.parametrize("seed", range(3))


@both
@seeds
@pytest.mark.parametrize("lam", [1.0, 0.3])
def test_landing_is_the_field_of_the_papers(generalized, seed, lam):
    """(G X^T B B X - B X G^T B X)/2 + lam B X (X^T B X - I), a fixed step."""
    example = Example(generalized, seed)

    def step(X: Matrix) -> Matrix:
        G, BX = example.gradient(X), example.B @ X
        tangent = 0.5 * (G @ (BX.T @ BX) - BX @ (G.T @ BX))
        return X - 0.03 * (tangent + lam * BX @ (X.T @ BX - np.eye(P)))

    points = runs(landing, example, eta=0.03, lam=lam)
    example.agrees(points, step, example.start)


@seeds
def test_a_long_step_of_landing_is_cut_as_in_the_paper(seed):
    """min(eta, (lam d (1-d) + sqrt(lam^2 d^2 (1-d)^2 + g^2 (eps - d)))/g^2, 1/(2 lam))."""
    example = Example(False, seed)

    def step(X: Matrix) -> Matrix:
        G, S = example.gradient(X), X.T @ X
        field = 0.5 * (G @ S - X @ (G.T @ X)) + X @ (S - np.eye(P))
        d, g = np.linalg.norm(S - np.eye(P)), np.linalg.norm(field)
        b = d * (1 - d)
        return X - min(10.0, (b + math.sqrt(b * b + g * g * (0.5 - d))) / g**2, 0.5) * field

    points = runs(landing, example, eta=10.0)
    for before, after in itertools.pairwise(points):
        # one step at a time: a field this long amplifies rounding
        assert np.linalg.norm(after - step(before)) <= 1e-12 * np.linalg.norm(before)


@both
@seeds
def test_pogo_is_a_tangent_step_and_a_newton_schulz_step(generalized, seed):
    """M = X - eta (G X^T X - X G^T X)/2, then M + (M - M M^T M)/2; with B where it belongs."""
    example = Example(generalized, seed)

    def step(X: Matrix) -> Matrix:
        G, BX = example.gradient(X), example.B @ X
        M = X - 0.02 * 0.5 * (G @ (BX.T @ BX) - BX @ (G.T @ BX))
        return M + 0.5 * (M - M @ (M.T @ example.B @ M))

    example.agrees(runs(pogo, example, eta=0.02), step, example.start)


@both
@seeds
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "bb"])
def test_plam_is_the_solver_of_its_authors(generalized, seed, fixed):
    """Kkt + beta M X (X^T M X - I), kkt = G - M X sym(G^T X); ABB steps from the second on."""
    example = Example(generalized, seed)
    beta = 30.0  # large enough for the steps of Barzilai and Borwein to stay in the tube

    def direction(X: Matrix) -> Matrix:
        G, MX = example.gradient(X), example.B @ X
        GX = G.T @ X
        return G - MX @ (0.5 * (GX + GX.T)) + beta * MX @ (X.T @ MX - np.eye(P))

    if fixed:
        points = runs(plam, example, beta=beta, eta=200.0)
        example.agrees(points, lambda X: X - direction(X) / 200.0, example.start)
        return
    X = example.start
    manifold = example.problem.manifold
    X = manifold.restore(X)
    points = runs(plam, example, beta=beta, x0=X, tube=1e6)  # theirs has no tube
    D = direction(X)
    proxparam = 1 / max(0.1, min(0.01 * np.linalg.norm(D), 1))
    for iteration in range(1, ITERATIONS + 1):
        before, D_before = points[iteration - 1], D
        X = before - D_before / proxparam
        scale = np.linalg.norm(X) + np.linalg.norm(D_before) / proxparam
        assert np.linalg.norm(points[iteration] - X) <= 1e-12 * scale
        X = points[iteration]
        D = direction(X)
        S, V = X - before, D - D_before
        SV = np.sum(S * V)
        proxparam = np.sum(V * V) / abs(SV) if (iteration + 1) % 2 == 0 else abs(SV) / np.sum(S * S)
        proxparam = max(1e-10, min(proxparam, 1e10))


class Nearest(Example):
    """min |X - Y|^2/2, Y near M: so well conditioned that BiCGSTAB solves to rounding."""

    def __init__(self, generalized: bool, seed: int) -> None:
        super().__init__(generalized, seed)
        manifold = self.problem.manifold
        X, E = manifold.random_point(seed), manifold.random_ambient(seed + 100)
        self.Y = X + 0.2 * E / np.linalg.norm(E)
        self.problem = go.Problem(
            manifold,
            lambda X: float(np.sum((X - self.Y) ** 2)) / 2,
            self.gradient,
            lambda X, Z: self.hessian(Z),
        )
        self.start = 1.01 * X

    def gradient(self, X: Matrix) -> Matrix:
        return X - self.Y

    def hessian(self, Z: Matrix) -> Matrix:
        return Z


class Published:
    """Second-order landing by its formulas, with dense algebra; B = I is the authors' case."""

    def __init__(self, example: Example, X: Matrix) -> None:
        self.example, self.X = example, X
        self.G, self.BX = example.gradient(X), example.B @ X
        self.S, self.K = X.T @ self.BX, self.BX.T @ self.BX
        self.normal = -0.5 * X @ (self.S - np.eye(P))
        gradient = self.G @ self.K - self.BX @ (self.G.T @ self.BX)
        self.rhs = -gradient - self.image(self.normal)

    def image(self, V: Matrix) -> Matrix:
        """H X^T X - X H^T X + G V^T X - V G^T X, H = hess f[V]; with B where it belongs."""
        H, BV = self.example.hessian(V), self.example.B @ V
        first = H @ self.K - self.BX @ (H.T @ self.BX)
        return first + self.G @ (BV.T @ self.BX) - BV @ (self.G.T @ self.BX)

    def step(self) -> Matrix:
        """N + T, image(T) = rhs, T tangent to the level set: V^T B X + X^T B V = 0."""
        units = np.eye(N * P).reshape(-1, N, P)
        change = np.array([(V.T @ self.BX + self.BX.T @ V).ravel() for V in units])
        _, s, rows = np.linalg.svd(change.T)
        basis = rows[np.sum(s > 1e-10) :].reshape(-1, N, P)
        assert len(basis) == N * P - P * (P + 1) // 2
        M = np.array([self.image(V).ravel() for V in basis]).T
        c = np.linalg.lstsq(M, self.rhs.ravel(), rcond=None)[0]
        return self.normal + np.tensordot(c, basis, 1)


@both
@seeds
def test_second_order_landing_is_that_of_its_authors(generalized, seed):
    """X + eta (N + T) with the equation solved to rounding; eta < 1 makes 20 iterations of it."""
    example = Nearest(generalized, seed)
    settings = Settings(forcing=1e-13, eta=0.3)
    points = runs(landing_newton, example, tangent="published", settings=settings)
    example.agrees(points, lambda X: X + 0.3 * Published(example, X).step(), points[0])


@both
@seeds
def test_full_steps_solve_the_equation_as_well_as_the_authors_ask(generalized, seed):
    """To min(zeta, |b|^theta) |b|; the constants of their experiments, and those of their code."""
    example = Example(generalized, seed)
    near = landing(example.problem, example.start, tol=1e-3).x * 1.01
    for settings in (Settings(0.1, 0.5), Settings()):
        points = runs(
            landing_newton, example, x0=near, tol=1e-8, tangent="published", settings=settings
        )
        assert len(points) <= 8  # superlinear convergence
        for X, after in itertools.pairwise(points):
            at = Published(example, X)
            size, rounding = np.linalg.norm(at.rhs), 1e-12 * np.linalg.norm(at.G)
            residual = np.linalg.norm(at.image(after - X - at.normal) - at.rhs)
            allowed = min(settings.forcing, size**settings.exponent) * size
            assert residual <= 1.01 * allowed + rounding


@seeds
def test_a_step_of_second_order_landing_that_leaves_the_tube_is_cut_as_in_the_paper(seed):
    """(-d (1-d)/2 + sqrt(d^2 (1-d)^2/4 + g^2 (eps - d)))/g^2, g = |N + T|, at most 1."""
    example, tube = Nearest(False, seed), 1e-3
    [X, after] = runs(
        landing_newton,
        example,
        x0=example.start * (1.0001 / 1.01),
        tangent="published",
        tube=tube,
        max_iterations=1,
        settings=Settings(forcing=1e-13),
    )
    step, d = Published(example, X).step(), np.linalg.norm(X.T @ X - np.eye(P))
    whole = X + step
    assert np.linalg.norm(whole.T @ whole - np.eye(P)) > tube
    g, b = np.linalg.norm(step), d * (1 - d) / 2
    t = min((math.sqrt(b * b + g * g * (tube - d)) - b) / g**2, 1.0)
    assert np.linalg.norm(after - X - t * step) <= 1e-12 * np.linalg.norm(X)
