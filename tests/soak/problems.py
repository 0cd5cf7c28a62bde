"""Random problems over all manifolds: condition, scale, noise, NaN, and starts of every kind."""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import genorth as go
from genorth.testing.strategies import FAMILIES, Recipe
from support.unusual_manifolds import pairs, quaternionic

MAX_TIME = 2.0
_NAMED: dict[str, Callable[[Recipe], Any]] = {
    "quaternionic": lambda r: quaternionic(r.n, r.p),
    "pairs": lambda r: pairs(r.n, r.p),
    "sphere": lambda r: go.Sphere(r.n + 1),
    "oblique": lambda r: go.Oblique(r.n + 1, r.p),
    "circle": lambda r: go.ComplexCircle(r.n),
    "rotations": lambda r: go.Rotations(r.n + 1),
    "power": lambda r: go.Power(go.Stiefel(r.n, r.p), (2,)),
}
_COSTS = ("trace", "trace", "nearest", "nearest", "linear", "quartic", "noisy", "nan", "domain")
_STARTS = ("random", "random", "random", "near", "zeros", "huge", "long", "tiny", "gauss", "saddle")


@attrs.frozen(eq=False)
class Cost:
    """f = scale (a <X, H X>/2 + b <T, X> + c |X|^2/2 + d sum |X_ij|^4/4), in the precision of X."""

    kind: str
    scale: float
    H: Any
    T: Any

    @property
    def weights(self) -> tuple[int, int, int, int]:
        """a, b, c and d."""
        known = {"trace": (1, 0, 0, 0), "linear": (0, 1, 0, 0), "quartic": (0, 1, 0, 1)}
        return known.get(self.kind, (0, -1, 1, 0))  # the distance from T, but for a constant

    def value(self, X: Any) -> Any:
        """f(X); NaN or infinite far out, where the kind says so."""
        if self.kind in ("nan", "domain") and np.abs(X).max() > 3 * np.abs(self.T).max():
            return np.nan if self.kind == "nan" else np.inf
        a, b, c, d = self.weights
        terms = a * X.conj() * (self.H @ X) / 2 + b * self.T.conj() * X
        f = self.scale * (terms.real + c * np.abs(X) ** 2 / 2 + d * np.abs(X) ** 4 / 4).sum()
        if self.kind == "noisy":  # of size 1e-8, relative, and without a pattern
            f = f + 1e-8 * self.size(X) * np.sin(1e9 * np.abs(X).sum())
        return f if X.dtype.char in "gG" else float(f)

    def gradient(self, X: Any) -> Any:
        """The Euclidean gradient."""
        a, b, c, d = self.weights
        return self.scale * (a * (self.H @ X) + b * self.T + c * X + d * np.abs(X) ** 2 * X)

    def hessian(self, X: Any, Z: Any) -> Any:
        """Its derivative along Z."""
        a, _, c, d = self.weights
        fourth = np.abs(X) ** 2 * Z + 2 * X * (X.conj() * Z).real
        return self.scale * (a * (self.H @ Z) + c * Z + d * fourth)

    def size(self, X: Any) -> float:
        """A bound of the terms that f is the sum of."""
        a, b, c, d = map(abs, self.weights)
        x, t, h = (float(np.linalg.norm(V.astype(complex))) for V in (X, self.T, self.H))
        return abs(self.scale) * (a * h * x**2 + b * t * x + c * x**2 + d * x**4)


@attrs.frozen(eq=False)
class Case:
    """A problem, a start and a tolerance; all follow from the seed."""

    seed: int
    about: str
    manifold: Any
    cost: Cost
    x0: Any
    tol: float

    def problem(self, hessian: bool = True) -> go.Problem:
        """The problem, with Hessian products or without."""
        second = self.cost.hessian if hessian else None
        return go.Problem(self.manifold, self.cost.value, self.cost.gradient, second)


def case(seed: int) -> Case | None:
    """The case of a seed; None where no such manifold can be made, which its error has said."""
    rng = np.random.default_rng([26, seed])
    family = str(rng.choice([*FAMILIES, *_NAMED]))
    n = int(rng.integers(1, 8))
    condition = float(10 ** (rng.uniform(0, 12) * (rng.random() < 0.6)))
    recipe = Recipe(family, n, int(rng.integers(1, n + 1)), condition, seed)
    kind, start = str(rng.choice(_COSTS)), str(rng.choice(_STARTS))
    scale = float(10 ** (rng.uniform(-12, 12) * (rng.random() < 0.3)))
    tol = float(rng.choice([1e-3, 1e-6, 1e-6, 1e-9]))
    about = f"{recipe}, {kind}, scale {scale:.1e}, start {start}, tol {tol:g}"
    try:
        M = {**FAMILIES, **_NAMED}[family](recipe)
        X = M.random_point(rng)
    except ValueError:
        return None
    rows = X.shape[max(X.ndim - 2, 0)]
    spread = condition ** rng.uniform(0, 1, rows)
    U = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    H = (U * (spread * rng.choice([-1.0, 1.0], rows, p=[0.2, 0.8]))) @ U.T
    H = (H + H.T) / 2
    T = X + np.asarray(M.random_ambient(rng)) * rng.choice([1e-3, 0.3, 1.0])
    return Case(seed, about, M, Cost(kind, scale, H, T), _start(M, start, X, H, rng), tol)


def _start(M: Any, kind: str, X: Any, H: Any, rng: np.random.Generator) -> Any:
    noise = np.asarray(M.random_ambient(rng))
    if kind == "saddle" and X.ndim == 2:  # eigenvectors of H, brought to M where that can be done
        V = np.linalg.eigh(H)[1][:, rng.permutation(X.shape[-2])[: X.shape[-1]]]
        return np.asarray(M.ambient(V.astype(X.dtype)))
    return {
        "near": X + 1e-3 * noise,
        "zeros": 0 * X,
        "huge": 1e155 * noise,
        "long": 1e3 * X,
        "tiny": 1e-165 * noise,
        "gauss": noise,
    }.get(kind, X)
