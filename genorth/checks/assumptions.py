"""`check_assumptions`: which parts of Assumption 1 hold for phi and psi, and how closely.

A check measures and returns a `Report`; it neither prints nor raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import scipy.sparse.linalg

from genorth.checks.report import Finding, Report, title
from genorth.errors import require
from genorth.geometry.bases import realvec
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import ConjugateGradients
from genorth.geometry.product import Blockwise, factors_of
from genorth.geometry.shaped import in_blocks
from genorth.linalg.arrays import Array, ct, eps, norm
from genorth.linalg.inputs import as_generator
from genorth.linalg.krylov import signed_directions

_SAMPLES = 5
_ROUNDS = 5  # of Krylov subspaces, to find where phi is negative
# real dimensions up to which phi is formed as a matrix, for singular values and for eigenvalues
_DENSE_LIMIT, _EIGENVALUE_LIMIT = 600, 1500

_SLOW = (
    "No Q with psi(T) = Q T Q^-1 and Q^T = +-Q was found, so that Theta_X takes conjugate "
    "gradients: about ten times slower, and not under jax.jit. If there is one, pass companion=Q "
    "to from_maps."
)


def check_assumptions(manifold: GenOrthManifold, rng: Any = None) -> Report:
    """Check Assumption 1 for phi and psi, and what follows from it for psi.

        psi(phi(U)^T V) = U^T phi(V)

        psi(S T) = psi(S) psi(T), psi(I) = I, psi(psi(T^T)^T) = T

    Also that psi is self-adjoint, that M has points, and the facts that the manifold states about
    itself: Q, A, the projector onto F, `definite`, `isometric`. Every figure is relative to the
    size of the terms compared.

    Args:
        manifold: The manifold.
        rng: A seed or a NumPy Generator for the random elements.

    Returns:
        A report with one finding per statement.

    Raises:
        ValueError: If manifold is not a manifold, or rng not a seed.
    """
    blocks = in_blocks(manifold)[0]
    if isinstance(blocks, Blockwise):
        return _of_factors(blocks, as_generator(rng))
    manifold = blocks
    require(
        isinstance(manifold, GenOrthManifold),
        "manifold",
        "a GenOrthManifold",
        f"a {type(manifold).__name__}",
    )
    rng = as_generator(rng)
    worst: dict[str, tuple[str, float]] = {}
    for _ in range(_SAMPLES):
        for name, formula, value in _violations(manifold, rng):
            worst[name] = (
                formula,
                float(np.fmax(worst.get(name, ("", 0.0))[1], value)) if value == value else np.nan,
            )
    *_, n, p = manifold.shape
    bound = 100 * np.sqrt(n * p) * eps(manifold.dtype) * _growth(manifold, rng)
    findings = [Finding(name, formula, value, bound) for name, (formula, value) in worst.items()]
    findings.insert(3, _one_to_one(manifold, rng))
    if manifold.definite:
        findings.append(_definite(manifold, rng))
    findings.extend(_on_manifold(manifold, rng))
    notes = (_SLOW,) if manifold.theta_solver is ConjugateGradients else ()
    return Report(f"Assumption 1 for {title(manifold)}", tuple(findings), notes=notes)


def _of_factors(product: Blockwise, rng: np.random.Generator) -> Report:
    """One report on all factors with a constraint."""
    reports = [check_assumptions(factor, rng) for factor in factors_of(product)]
    findings = [
        attrs.evolve(finding, name=f"{number}: {finding.name}")
        for number, report in enumerate(reports)
        for finding in report.findings
    ]
    return Report(
        f"Assumption 1 for a product of {len(reports)} manifolds",
        tuple(findings),
        notes=tuple(dict.fromkeys(note for report in reports for note in report.notes)),
    )


def _violations(
    manifold: GenOrthManifold, rng: np.random.Generator
) -> Iterator[tuple[str, str, float]]:
    """(name, formula, relative violation) for one set of random elements."""

    def phi(X: Array) -> Any:
        return np.asarray(manifold.phi(X))

    def psi(T: Array) -> Any:
        return np.asarray(manifold.psi(T))

    def gap(A: Array, B: Array, *sizes: float) -> float:
        size = max(float(norm(A)) + float(norm(B)), *sizes, np.finfo(float).tiny)
        return float(norm(np.asarray(A - B))) / size

    def linear(function: Callable[[Array], Any], A: Array, B: Array) -> float:
        a, b = rng.standard_normal(2)
        first, second = a * function(A), b * function(B)
        return gap(function(a * A + b * B), first + second, float(norm(first) + norm(second)))

    def self_adjoint(function: Callable[[Array], Any], A: Array, B: Array) -> float:
        FA, FB = np.asarray(function(A)), np.asarray(function(B))
        size = float(norm(FA) * norm(B) + norm(A) * norm(FB))
        difference = float(manifold.inner(FA, B)) - float(manifold.inner(A, FB))
        return abs(difference) / max(size, np.finfo(float).tiny)

    U, V, X1, X2, Y1, Y2 = (manifold.random_ambient(rng) for _ in range(6))
    S, T = ct(X1) @ X2, ct(Y1) @ Y2
    eye = np.eye(T.shape[-1], dtype=T.dtype) + np.zeros_like(T)
    yield "1 closed", "X T in F", gap(U @ T, manifold.ambient(U @ T))
    yield "2 phi linear", "phi(aU + bV) = a phi(U) + b phi(V)", linear(phi, U, V)
    yield "2 phi into F", "phi(X) in F", gap(phi(U), manifold.ambient(phi(U)))
    yield "2 phi self-adjoint", "<phi(U), V> = <U, phi(V)>", self_adjoint(phi, U, V)
    yield "3 psi linear", "psi(aS + bT) = a psi(S) + b psi(T)", linear(psi, S, T)
    yield "3 companion", "phi(XT) = phi(X) psi(T)", gap(phi(U @ T), phi(U) @ psi(T))
    yield "3 symmetry", "psi(phi(X)^T X) = X^T phi(X)", gap(psi(ct(phi(U)) @ U), ct(U) @ phi(U))
    yield "psi symmetric", "psi(phi(U)^T V) = U^T phi(V)", gap(psi(ct(phi(U)) @ V), ct(U) @ phi(V))
    yield "psi multiplicative", "psi(ST) = psi(S) psi(T)", gap(psi(S @ T), psi(S) @ psi(T))
    yield "psi unit", "psi(I) = I", gap(psi(eye), eye)
    yield "psi self-adjoint", "<psi(S), T> = <S, psi(T)>", self_adjoint(psi, S, T)
    yield "psi inverse", "psi(psi(T^T)^T) = T", gap(psi(ct(psi(ct(T)))), T)
    if (companion := manifold.companion) is not None:
        Q = np.asarray(companion.Q.left(eye))
        yield "Q of psi", "psi(T) Q = Q T", gap(psi(T) @ Q, Q @ T)
        yield "Q symmetric or skew", "Q^T = e Q", gap(ct(Q), companion.sign * Q)
    if companion is not None and manifold.form is not None:
        A_U = np.asarray(manifold.form.left(U))
        yield "A of phi", "phi(X) Q = A X", gap(phi(U) @ Q, A_U)
    if manifold.ambient_projector is not None:
        Y, Z = rng.standard_normal((2, *manifold.shape)).astype(manifold.dtype)
        Y, Z = (Y, Z) if manifold.dtype.kind == "f" else (Y + 1j * Z, Z - 2j * Y)
        PY = np.asarray(manifold.ambient(Y))
        yield "projector onto F", "P(P(Y)) = P(Y)", gap(manifold.ambient(PY), PY)
        symmetric = self_adjoint(manifold.ambient, Y, Z)
        yield "projector orthogonal", "<P(Y), Z> = <Y, P(Z)>", symmetric
    if manifold.isometric:
        yield "isometric", "psi = id", gap(psi(T), T)


def _growth(manifold: GenOrthManifold, rng: np.random.Generator) -> float:
    """How much psi can magnify rounding: the largest |psi(T)| / |T| seen, squared."""
    ratios = [1.0]
    for _ in range(_SAMPLES):
        T = ct(manifold.random_ambient(rng)) @ manifold.random_ambient(rng)
        for _ in range(3):  # a few steps of the power method
            image = np.asarray(manifold.psi(T))
            size = float(norm(image))
            if not 0 < size < np.inf:
                return 1.0
            ratios.append(size / float(norm(T)))
            T = image / size
    return max(ratios) ** 2


def _as_matrix(manifold: GenOrthManifold, V: Array) -> scipy.sparse.linalg.LinearOperator:
    """phi on the real vectors of arrays like V; the identity off F, so that only F counts."""

    def apply(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        X = np.ascontiguousarray(x.ravel(), V.real.dtype).view(V.dtype).reshape(V.shape)
        outside = X - np.asarray(manifold.ambient(X))
        return realvec(np.asarray(manifold.phi(X - outside)) + outside)

    size = realvec(V).size
    return scipy.sparse.linalg.LinearOperator((size, size), matvec=apply, dtype=float)


def _definite(manifold: GenOrthManifold, rng: np.random.Generator) -> Finding:
    """The smallest eigenvalue of phi over the largest; for large sizes, what Krylov subspaces find.

    No sample meets the negative direction of a form with one, or with a small one.
    """
    operator = _as_matrix(manifold, manifold.random_ambient(rng))
    size, note = operator.shape[0], "smallest / largest eigenvalue"
    if size <= _EIGENVALUE_LIMIT:
        matrix = operator @ np.eye(size)
        values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        ratio = float(values[0] / max(np.abs(values).max(), np.finfo(float).tiny))
    else:
        V = signed_directions(operator.matmat, size, np.dtype(float), 1, -1, _ROUNDS)
        ratio, note = 0.0, "no other direction found by Krylov subspaces"
        if V.size:
            image = operator @ V[:, 0]
            ratio = float(V[:, 0] @ image / np.linalg.norm(image))
            note = "a direction in which phi is negative"
    bound = -size * eps(manifold.dtype)
    return Finding("definite", "<X, phi(X)> > 0", ratio, bound, True, note)


def _one_to_one(manifold: GenOrthManifold, rng: np.random.Generator) -> Finding:
    """The smallest singular value of phi; for large sizes, whether phi(U) = phi(V) gives U = V."""
    V = manifold.random_ambient(rng)
    operator = _as_matrix(manifold, V)
    size, apply = operator.shape[0], operator.matvec
    formula, unit = "phi(X) = 0 only for X = 0", eps(manifold.dtype)
    if size <= _DENSE_LIMIT:
        values = np.linalg.svd(operator @ np.eye(size), compute_uv=False)
        ratio = float(values[-1] / values[0]) if values[0] > 0 else 0.0
        return Finding(
            "2 phi one-to-one",
            formula,
            ratio,
            size * unit,
            True,
            "smallest / largest singular value",
        )
    target = apply(realvec(V))
    U, _ = scipy.sparse.linalg.minres(operator, target, rtol=1e-12, maxiter=500)
    rest = float(np.linalg.norm(apply(U) - target) / max(float(np.linalg.norm(target)), 1e-300))
    lost, bound = float(np.linalg.norm(U - realvec(V)) / norm(V)), 0.1 / np.sqrt(size)
    if rest > 1e-8:
        note = f"not decided: MINRES ended at a residual of {rest:.1e}"
        return Finding("2 phi one-to-one", formula, 0.0, bound, note=note)
    note = "|U - V|/|V| of the shortest U with phi(U) = phi(V)"
    return Finding("2 phi one-to-one", formula, lost, bound, note=note)


def _on_manifold(manifold: GenOrthManifold, rng: np.random.Generator) -> Iterator[Finding]:
    """That a point can be drawn, and what is stated about points."""
    bound = 4500 * eps(manifold.dtype)
    try:
        X = manifold.random_point(rng)
        value, note = float(manifold.feasibility(X)) / float(manifold.scale(X)), ""
    except (ValueError, np.linalg.LinAlgError) as error:
        value, note = float("inf"), f"no point found: {error}"
    yield Finding("M has points", "X^T phi(X) = I", value, bound, False, note)
    if manifold.isometric and not note:
        K = ct(P := np.asarray(manifold.phi(X))) @ P
        defect = float(norm(K - np.eye(K.shape[-1]))) / max(1.0, float(norm(K)))
        yield Finding("isometric on M", "phi(X)^T phi(X) = I", defect, bound)
