"""Errors in the drawing of random points (sampling.py)."""

from __future__ import annotations

from . import CONTRACT, errors_in

_e = errors_in("genorth/geometry/sampling.py", CONTRACT, "tests/geometry/test_random_points.py")
_GAPS = "tests/mutation/test_gaps.py"

MUTANTS = [
    _e(
        "pairs-order",
        "order",
        "_real_pairs",
        "[V.imag, V.real]",
        "[V.real, V.imag]",
        "[b, a]^T K [b, a] = s J",
        equivalent="It stands on both sides of X = [b, a] [d, c]^T = b d^T + a c^T, whose order does not matter.",
    ),
    _e(
        "block-right-transpose",
        "transpose",
        "_Block.__init__",
        "self.right = ct(V if self.sign > 0 else _real_pairs(V))",
        "self.right = (V if self.sign > 0 else _real_pairs(V))",
        "Q = R^T S R",
    ),
    _e(
        "block-order",
        "sign",
        "_Block.__init__",
        "np.argsort(-values)",
        "np.argsort(values)",
        "S = diag(I, -I)",
    ),
    _e(
        "block-root",
        "factor",
        "_Block.__init__",
        "np.sqrt(np.abs(values[order]))",
        "np.abs(values[order])",
        "Q = R^T S R with R = |l|^(1/2) V^T",
    ),
    _e(
        "block-needs",
        "order",
        "_Block.__init__",
        "{1: int((values > 0).sum()), -1: int((values < 0).sum())}",
        "{-1: int((values > 0).sum()), 1: int((values < 0).sum())}",
        "as many directions of a sign as Q has",
    ),
    _e(
        "part-inverse",
        "factor",
        "_Block._orthonormal_part",
        "((U @ Vh) / D)",
        "((U @ Vh) * D)",
        "D^-1 times the polar factor",
    ),
    _e(
        "part-root",
        "factor",
        "_Block._orthonormal_part",
        "np.sqrt(np.abs(g[chosen]))",
        "np.abs(g[chosen])",
        "D = |g|^(1/2)",
    ),
    _e(
        "part-sign",
        "sign",
        "_Block._orthonormal_part",
        "sign * g > 0",
        "g > 0",
        "directions of the wanted sign",
    ),
    _e(
        "polar-iteration",
        "sign",
        "_by_polar_factor",
        "Y + np.asarray(manifold.phi(Y)) / size",
        "Y - np.asarray(manifold.phi(Y)) / size",
        "id + phi/|phi| moves to where phi is positive",
    ),
    _e(
        "no-walk",
        "term",
        "Sampler.draw",
        "X = random_walk(self.manifold, X, rng)",
        "X = X + 0",
        "points spread along the unbounded directions",
    ),
    _e(
        "gaussian-complex",
        "term",
        "_gaussian",
        "G + 1j * rng.standard_normal(shape) if",
        "G + 0j if",
        "complex points spread over all phases",
        _GAPS,
    ),
]
