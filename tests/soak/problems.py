"""Random problems over all manifolds: condition, scale, noise, NaN, and starts of every kind.

Some are on products, some have a nonsmooth term or constraints, and some run in a metric.
"""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from scipy.optimize import Bounds, LinearConstraint

import genorth as go
from genorth.testing.strategies import FAMILIES, Recipe
from support.unusual_manifolds import pairs, quaternionic

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
_WITH = ("", "", "", "", "metric", "free", "product", "L1", "L21", "bounds", "linear")


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
class Part:
    """One variable: its manifold, its part of the cost and its start."""

    manifold: Any
    cost: Cost
    x0: Any


@attrs.frozen(eq=False)
class Case:
    """A problem, a start and a tolerance; all follow from the seed."""

    seed: int
    about: str
    parts: tuple[Part, ...]
    tol: float
    term: Any = None
    #: Bounds of A x, A with a row for each; x the entries of X.
    within: tuple[Any, Any, Any] | None = None
    constraints: Any = ()
    metric: Any = None

    @property
    def limits(self) -> dict[str, float]:
        """Seconds in one case of four; else evaluations, which are the same on every machine."""
        if self.seed % 4 == 0:
            return {"max_time": 0.2}
        return {"max_time": 2.0, "max_evaluations": 300}

    @property
    def x0(self) -> Any:
        """The start."""
        return self.of([part.x0 for part in self.parts])

    def of(self, values: Any) -> Any:
        """A tuple with a value for each variable, or the value of the only one."""
        return values[0] if len(self.parts) == 1 else tuple(values)

    def split(self, x: Any) -> list[Any]:
        """The variables in a point."""
        return [np.asarray(part) for part in ([x] if len(self.parts) == 1 else x)]

    def value(self, *X: Any) -> Any:
        """f(X)."""
        return sum(part.cost.value(x) for part, x in zip(self.parts, X, strict=True))

    def gradient(self, *X: Any) -> Any:
        """The Euclidean gradients."""
        return self.of([part.cost.gradient(x) for part, x in zip(self.parts, X, strict=True)])

    def hessian(self, *XZ: Any) -> Any:
        """Their derivatives along Z."""
        pairs = zip(self.parts, XZ[: len(self.parts)], XZ[len(self.parts) :], strict=True)
        return self.of([part.cost.hessian(X, Z) for part, X, Z in pairs])

    def problem(self, hessian: bool = True) -> go.Problem:
        """The problem, with Hessian products or without."""
        manifolds = [part.manifold for part in self.parts]
        M = manifolds[0] if len(manifolds) == 1 else go.Product(*manifolds)
        more: Any = {"nonsmooth": self.term, "constraints": self.constraints}
        return go.Problem(M, self.value, self.gradient, self.hessian if hessian else None, **more)


def case(seed: int) -> Case | None:
    """The case of a seed; None where no such manifold can be made, which its error has said."""
    rng = np.random.default_rng([26, seed])
    extra, start = str(rng.choice(_WITH)), str(rng.choice(_STARTS))
    tol = float(rng.choice([1e-3, 1e-6, 1e-6, 1e-9]))
    try:
        drawn = [_part(seed + 10**6 * i, start, rng) for i in range(1 + (extra == "product"))]
    except ValueError:
        return None
    parts = [part for _, part, _ in drawn]
    about = "; ".join(f"{said}, start {start}, tol {tol:g} {extra}" for said, _, _ in drawn)
    M, X = parts[0].manifold, drawn[0][2]
    further: dict[str, Any] = {}
    if extra == "free":
        T = rng.standard_normal(3)
        parts.append(Part(go.Euclidean(3), Cost("nearest", 1.0, np.eye(3), T), 0 * T))
    elif extra == "metric":
        further = {"metric": 10 ** rng.uniform(-2, 2, X.shape[max(X.ndim - 2, 0)])}
    elif extra in ("L1", "L21"):
        mu = parts[0].cost.scale * 10 ** rng.uniform(-2, 1)
        further = {"term": getattr(go, extra)(mu)}
    elif extra == "bounds" and M.dtype.kind == "f":
        lower, upper = (X + s * rng.choice([0.01, 1.0, np.inf], X.shape) for s in (-1, 1))
        rows = np.eye(X.size)
        bounds = Bounds(lower, upper)
        further = {"within": (rows, lower.ravel(), upper.ravel()), "constraints": bounds}
    elif extra == "linear" and M.dtype.kind == "f":
        A = rng.standard_normal((int(rng.integers(1, 1 + X.size // 2 + 1)), X.size))
        slack = rng.choice([0.0, 1.0], len(A))
        ends = A @ X.ravel() - slack, A @ X.ravel() + 0.1 * slack
        further = {"within": (A, *ends), "constraints": LinearConstraint(A, *ends)}
    return Case(seed, about, tuple(parts), tol, **further)


def _part(seed: int, start: str, rng: np.random.Generator) -> tuple[str, Part, Any]:
    """A description, the variable, and a point of M that it knows to be there."""
    family = str(rng.choice([*FAMILIES, *_NAMED]))
    n = int(rng.integers(1, 8))
    condition = float(10 ** (rng.uniform(0, 12) * (rng.random() < 0.6)))
    recipe = Recipe(family, n, int(rng.integers(1, n + 1)), condition, seed)
    kind = str(rng.choice(_COSTS))
    scale = float(10 ** (rng.uniform(-12, 12) * (rng.random() < 0.3)))
    M = {**FAMILIES, **_NAMED}[family](recipe)
    X = M.random_point(rng)
    rows = X.shape[max(X.ndim - 2, 0)]
    spread = condition ** rng.uniform(0, 1, rows)
    U = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    H = (U * (spread * rng.choice([-1.0, 1.0], rows, p=[0.2, 0.8]))) @ U.T
    H = (H + H.T) / 2
    T = X + np.asarray(M.random_ambient(rng)) * rng.choice([1e-3, 0.3, 1.0])
    cost = Cost(kind, scale, H, T)
    return f"{recipe}, {kind}, scale {scale:.1e}", Part(M, cost, _start(M, start, X, H, rng)), X


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
