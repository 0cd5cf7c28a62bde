"""The figures of the geometry.

Time as ratios within one process, memory in arrays of the size of a point.

Run as `python benchmarks/geometry.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from _timing import Figure, Prepare, main, medians, peak_bytes, ratio

import genorth as go

Array = np.ndarray[Any, Any]


def _points(manifold: go.GenOrthManifold, count: int = 3) -> Callable[[], Array]:
    """Points in turn, each call a new array.

    What a manifold remembers of the last one is of no use for the next.
    """
    rng = np.random.default_rng(0)
    points = itertools.cycle([manifold.random_point(rng) for _ in range(count)])
    return lambda: next(points).copy()


def _directions(manifold: go.GenOrthManifold) -> Array:
    return manifold.random_ambient(np.random.default_rng(1))


def _tangent(manifold: go.GenOrthManifold, X: Array, length: float) -> Array:
    Z = manifold.random_tangent(X, np.random.default_rng(2))
    return Z * (length / np.linalg.norm(Z))


def _with_steps(
    manifold: go.GenOrthManifold, length: float, count: int = 3
) -> Callable[[], tuple[Array, Array]]:
    """Points with tangent vectors, in turn; copies, as in `_points`."""
    draw = _points(manifold, count)
    pairs = itertools.cycle(
        [(X, _tangent(manifold, X, length)) for X in (draw() for _ in range(count))]
    )

    def fresh() -> tuple[Array, Array]:
        X, Z = next(pairs)
        return X.copy(), Z.copy()

    return fresh


# ---------------------------------------------------------------------- Theta against a Sylvester
# solver


def _j_left(X: Array) -> Array:
    half = X.shape[0] // 2
    return np.concatenate([X[half:], -X[:half]])


def _j_right(X: Array) -> Array:
    half = X.shape[1] // 2
    return np.concatenate([-X[:, half:], X[:, :half]], axis=1)


def theta_by_sylvester(X: Array, D: Array) -> Array:
    """Theta_X(D) = J Y by scipy.linalg.solve_sylvester.

    K Y + Y K = N^T D - D^T N, N = phi(X) J = J X, K = N^T N.
    """
    N = _j_right(-_j_right(_j_left(X)))  # phi(X) J, phi(X) = -J X J
    K, R = N.T @ N, N.T @ D
    return _j_left(scipy.linalg.solve_sylvester(K, K, R - R.T))


def theta(n: int, p: int, bound: float) -> list[Figure]:
    """Theta on the symplectic manifold, phi included, against a general solver.

    Both solve the same equation.
    """
    manifold = go.SymplecticStiefel(n, p)
    fresh, D = _points(manifold), _directions(manifold)
    X = fresh()
    ours, theirs = manifold.theta(X, D), theta_by_sylvester(X, D)
    unit = np.finfo(float).eps * n * np.linalg.cond(X) ** 2
    assert np.linalg.norm(ours - theirs) <= unit * np.linalg.norm(ours)

    def sylvester() -> Callable[[], object]:
        return partial(theta_by_sylvester, fresh(), D)

    def theta() -> Callable[[], object]:
        return partial(manifold.theta, fresh(), D)

    speed = ratio(sylvester, theta, budget=6.0)
    return [
        Figure(
            f"theta, symplectic ({n},{p}): faster than solve_sylvester", speed, bound, at_least=True
        )
    ]


# ---------------------------------------------------------------------- retractions against the
# dense Cayley transform


def dense_cayley(X: Array, Z: Array) -> Array:
    """(I - Omega/2)^-1 (I + Omega/2) X with the n x n matrix Omega of F9.

    It is 2 (I - Omega/2)^-1 X - X. Omega = G P^T - X phi(G)^T, G = Z - X A/2, A = P^T Z,
    P = phi(X), as one product of n x 2p matrices. NumPy's solver, because scipy.linalg.solve takes
    twice its time to look for structure that is not there.
    """
    P = -_j_right(_j_left(X))
    G = Z - X @ (P.T @ Z) / 2
    half = np.hstack([-0.5 * G, 0.5 * X]) @ np.hstack([P, -_j_right(_j_left(G))]).T
    half.flat[:: X.shape[0] + 1] += 1
    return 2 * np.linalg.solve(half, X) - X


def retractions(n: int, p: int, bounds: dict[str, float]) -> list[Figure]:
    """Each retraction of the symplectic manifold against the dense Cayley transform."""
    manifold = go.SymplecticStiefel(n, p)
    fresh = _with_steps(manifold, 0.5)
    X, Z = fresh()
    ours, theirs = manifold.retract(X, Z), dense_cayley(X, Z)
    unit = np.finfo(float).eps * n * np.linalg.cond(X) ** 2
    assert np.linalg.norm(ours - theirs) <= unit * np.linalg.norm(ours)

    def dense() -> Callable[[], object]:
        return partial(dense_cayley, *fresh())

    def ours_by(kind: str) -> Prepare:
        return lambda: partial(manifold.retract, *fresh(), kind=kind)

    reference, *times = medians(dense, *map(ours_by, bounds), budget=4.0)
    return [
        Figure(
            f"retract {kind!r}, symplectic ({n},{p}): faster than dense Cayley",
            reference / seconds,
            bound,
            True,
        )
        for (kind, bound), seconds in zip(bounds.items(), times, strict=True)
    ]


def normal(n: int, p: int, bound: float | None, length: float = 0.5) -> list[Figure]:
    """The normal retraction of the symplectic manifold against Cayley."""
    manifold = go.SymplecticStiefel(n, p)
    fresh = _with_steps(manifold, length)

    def by(kind: str) -> Prepare:
        return lambda: partial(manifold.retract, *fresh(), kind=kind)

    times = ratio(by("normal"), by("cayley"), budget=4.0)
    what = f"retract 'normal', symplectic ({n},{p}), |Z| = {length}: times Cayley"
    return [Figure(what, times, bound)]


# ---------------------------------------------------------------------- overhead over the bare
# products


def projection(n: int, p: int, bound: float) -> list[Figure]:
    """Project on the Stiefel manifold against X^T D and X S, the two products that it takes."""
    manifold = go.Stiefel(n, p)
    fresh, D = _points(manifold), _directions(manifold)
    S = np.random.default_rng(3).standard_normal((p, p))

    def project() -> Callable[[], object]:
        return partial(manifold.project, fresh(), D)

    def products() -> Callable[[], object]:
        X = fresh()
        return lambda: (X.T @ D, X @ S)

    return [
        Figure(
            f"project, Stiefel ({n},{p}): times its two products", ratio(project, products), bound
        )
    ]


def hot_paths(n: int, p: int) -> list[Figure]:
    """The time of each hot path in units of its bare n x p x p products, symplectic.

    For information.

    phi takes no product and stands against one copy of X; p x p work (eigenvalues, inverse,
    exponential) is on our side alone.
    """
    manifold = go.SymplecticStiefel(n, p)
    fresh = _with_steps(manifold, 0.1)
    S = np.random.default_rng(3).standard_normal((p, p))

    def products(inward: int, outward: int) -> Prepare:
        def prepare() -> Callable[[], object]:
            X, Z = fresh()
            return lambda: ([X.T @ Z for _ in range(inward)], [X @ S for _ in range(outward)])

        return prepare

    def unary(method: Callable[[Array], object]) -> Prepare:
        return lambda: partial(method, fresh()[0])

    def binary(method: Callable[..., object], **options: Any) -> Prepare:
        return lambda: partial(method, *fresh(), **options)

    paths: dict[str, tuple[Prepare, Prepare]] = {
        "phi / a copy": (unary(manifold.phi), unary(np.copy)),
        "dissolve / 2 products": (unary(manifold.dissolve), products(1, 1)),
        "project / 3 products": (binary(manifold.project), products(2, 1)),
        "retract 'cayley' / 4 products": (binary(manifold.retract, kind="cayley"), products(2, 2)),
        "retract 'polar' / 2 products": (binary(manifold.retract, kind="polar"), products(1, 1)),
        "retract 'exp' / 5 products": (binary(manifold.retract, kind="exp"), products(2, 3)),
    }
    return [
        Figure(f"symplectic ({n},{p}): {name}", ratio(path, bare, budget=0.7))
        for name, (path, bare) in paths.items()
    ]


# ---------------------------------------------------------------------- memory, set-up, import


def memory(n: int = 100_000, p: int = 20, bound: float = 12.0) -> list[Figure]:
    """Arrays of the size of X that are alive, X and Z included.

    The manifold is indefinite with a diagonal A.
    """
    A = np.where(np.arange(n) % 2, -1.0, 1.0) * np.linspace(1.0, 2.0, n)
    J = np.where(np.arange(p) % 2, -1.0, 1.0)
    point = go.IndefiniteStiefel(A, J).random_point(np.random.default_rng(0))
    step = _tangent(go.IndefiniteStiefel(A, J), point, 0.5)
    calls: dict[str, Callable[[go.GenOrthManifold, Array, Array], object]] = {
        "project": lambda manifold, X, Z: manifold.project(X, Z),
        "dissolve": lambda manifold, X, Z: manifold.dissolve(X),
        **{f"retract {kind!r}": partial(_retract, kind) for kind in ("cayley", "polar", "exp")},
    }

    def prepare(call: Callable[[go.GenOrthManifold, Array, Array], object]) -> Callable[[], object]:
        manifold = go.IndefiniteStiefel(A, J)
        return partial(call, manifold, point.copy(), step.copy())

    peaks = {name: peak_bytes(partial(prepare, call)) for name, call in calls.items()}
    return [
        Figure(
            f"{name}, indefinite ({n},{p}): memory in arrays", peak / point.nbytes, bound, unit=""
        )
        for name, peak in peaks.items()
    ]


def _retract(kind: str, manifold: go.GenOrthManifold, X: Array, Z: Array) -> object:
    return manifold.retract(X, Z, kind)


def construction(n: int = 20_000, p: int = 20) -> list[Figure]:
    """SymplecticStiefel without an n x n array."""
    (seconds,) = medians(lambda: partial(go.SymplecticStiefel, n, p), budget=0.5)
    peak = peak_bytes(lambda: partial(go.SymplecticStiefel, n, p))
    return [
        Figure(f"SymplecticStiefel({n}, {p}): made in", 1e3 * seconds, 10.0, unit="ms"),
        Figure(f"SymplecticStiefel({n}, {p}): memory", peak / 8 / n, 1.0, unit="n"),
    ]


_IMPORT = """
import sys, time
import numpy, scipy.linalg
start = time.perf_counter()
import genorth
print(time.perf_counter() - start)
others = {"pymanopt", "matplotlib", "rich", "jax", "torch", "hypothesis", "pytest", "cdopt"}
print(len(others & set(sys.modules)))
"""


def importing() -> list[Figure]:
    """`import genorth` on top of NumPy and scipy.linalg, the best of five processes."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", _IMPORT], check=True, capture_output=True, text=True
        ).stdout.split()
        for _ in range(5)
    ]
    seconds, count = min(float(run[0]) for run in runs), max(float(run[1]) for run in runs)
    return [
        Figure("import genorth, over numpy and scipy.linalg", seconds, 0.3, unit="s"),
        Figure("optional packages imported with it", count, 0, unit=""),
    ]


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "theta (1000,100)": partial(theta, 1000, 100, 2.5),
    "theta (1000,400)": partial(theta, 1000, 400, 4.0),
    "retractions (1000,10)": partial(retractions, 1000, 10, {"cayley": 100.0, "polar": 50.0}),
    "normal (1000,10)": partial(normal, 1000, 10, 2.5),
    "normal (1000,100)": partial(normal, 1000, 100, 2.5),
    "projection (1000,100)": partial(projection, 1000, 100, 1.2),
    "memory": memory,
    "construction": construction,
    "importing": importing,
}

#: The same, for information.
OVERHEADS: dict[str, Callable[[], list[Figure]]] = {
    f"hot paths ({n},{p})": partial(hot_paths, n, p)
    for n, p in ((1000, 100), (1000, 10), (100, 10))
} | {
    f"normal ({n},{p}), |Z| = {length}": partial(normal, n, p, None, length)
    for n, p in ((1000, 10), (1000, 100))
    for length in (0.05, 2.0)
}


if __name__ == "__main__":
    sys.exit(main("geometry", FIGURES | OVERHEADS))
