"""pyMOR: symplectic model reduction of the wave equation, on the symplectic manifold.

Snapshots S of a Hamiltonian system are projected by a symplectic basis V, so that the reduced model
is Hamiltonian too [peng2016symplectic]. With V^+ = phi(V)^T, the symplectic inverse,

    f(V) = |E|^2/c,  E = S - V V^+ S,  G = -2 (E S^T phi(V) + phi(S E^T V))/c

is the error of the projection, and c that of pyMOR's cotangent lift, which is the start: f = 1
there. No formula for the minimum is known. pyMOR's three bases (cotangent lift, complex SVD,
SVD-like [buchfink2019symplectic]) are rows and bounds from above; the best of them is the truth to
beat. POD, which is not symplectic, is a bound from below. f does not change if V is replaced by
V K, K symplectic: the columns of a solution are open, its span is not.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, Visit, domain_solver
from genorth.linalg.arrays import Array

BASES = ("psd_cotangent_lift", "psd_complex_svd", "psd_svd_like_decomp")


@cache
def snapshots(speed: float, final_time: float, centre: float, width: float) -> Any:
    """The wave equation of pyMOR's demo, for a bump at the centre, on 50 points: 400 steps."""
    from pymor.basic import IdentityOperator, NumpyMatrixOperator, NumpyVectorSpace, set_log_levels
    from pymor.models.symplectic import QuadraticHamiltonianModel
    from pymor.operators.block import BlockDiagonalOperator

    set_log_levels({"pymor": "ERROR"})
    n, x = 50, np.linspace(0, 1, 50)
    laplacian = scipy.sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n, n), format="csr")
    stiffness = NumpyMatrixOperator(-((speed * (n - 1)) ** 2) * laplacian)
    space = NumpyVectorSpace(n)
    energy = BlockDiagonalOperator([stiffness, IdentityOperator(space)])
    s = np.abs(x - centre) / width
    bump = np.where(s <= 1, 1 - 1.5 * s**2 + 0.75 * s**3, np.maximum(2 - s, 0) ** 3 / 4)
    at_rest = energy.source.make_array([space.from_numpy(v[:, None]) for v in (bump, 0 * bump)])
    return QuadraticHamiltonianModel(final_time, at_rest, energy, nt=400).solve()


def basis(kind: str, vectors: Any, p: int) -> Array:
    """A symplectic basis of pyMOR for snapshots, by the name of the function."""
    import pymor.algorithms.symplectic

    found = getattr(pymor.algorithms.symplectic, kind)(vectors, p).to_array()
    return np.ascontiguousarray(found.to_numpy())


def projection_problem(S: Array, p: int, scale: float = 1.0, **more: Any) -> go.Problem:
    """The error of the projection of snapshots onto a symplectic basis, |S - V V^+ S|^2/c.

    Args:
        S: The snapshots, one column each.
        p: The number of basis vectors: even.
        scale: c.
        **more: Further arguments of `Problem`.

    Returns:
        The problem, with gradient and Hessian product.
    """
    manifold = go.SymplecticStiefel(len(S), p)
    phi = manifold.phi

    def cost_and_gradient(V: Array) -> tuple[float, Array]:
        P = phi(V)
        E = S - V @ (P.T @ S)
        return float(np.vdot(E, E)) / scale, -2 * (E @ (S.T @ P) + phi(S @ (E.T @ V))) / scale

    def hessian(V: Array, Z: Array) -> Array:
        P, R = phi(V), phi(Z)
        E, D = S - V @ (P.T @ S), Z @ (P.T @ S) + V @ (R.T @ S)  # D = -dE
        return -2 * (E @ (S.T @ R) - D @ (S.T @ P) + phi(S @ (E.T @ Z - D.T @ V))) / scale

    return go.Problem(
        manifold, cost_and_gradient=cost_and_gradient, euclidean_hessian=hessian, **more
    )


def _row(kind: str, wave: tuple[float, ...], problem: go.Problem, _: Array, visit: Visit) -> None:
    visit(basis(kind, snapshots(*wave), problem.manifold.shape[1]))


def _wave(p: int, *wave: float) -> Instance:
    U, values, _ = np.linalg.svd(snapshots(*wave).to_numpy(), full_matrices=False)
    S = (U * values)[:, values > 1e-12 * values[0]]  # f depends on S S^T only
    lift = basis(BASES[0], snapshots(*wave), p)
    scale = projection_problem(S, p).cost(lift)
    problem = projection_problem(S, p, scale)
    errors = {kind: problem.cost(basis(kind, snapshots(*wave), p)) for kind in BASES}
    best = min(errors, key=errors.__getitem__)
    return Instance(
        problem=problem,
        start=lift,
        truth=errors[best],
        truth_by=f"pymor.algorithms.symplectic.{best}",
        bound=True,
        solvers=tuple(
            domain_solver(
                f"pymor-{kind.removeprefix('psd_').replace('_', '-')}",
                partial(_row, kind, wave),
                cites=("milk2016pymor", "peng2016symplectic", "buchfink2019symplectic"),
            )
            for kind in BASES
        ),
        draw=partial(_draw, errors, float(np.sum(values[p:] ** 2)) / scale, problem),
    )


def _draw(errors: dict[str, float], pod: float, problem: go.Problem, ax: Any, V: Array) -> None:
    bars = errors | {"genorth": problem.cost(V), "POD (not symplectic)": pod}
    ax.barh([name.removeprefix("psd_") for name in bars], list(bars.values()))
    ax.invert_yaxis()
    ax.set(xlabel="error of the projection, squared, relative to the cotangent lift")


SOURCE = Source(
    package="pymor",
    module="pymor",
    oldest="2026.1",
    instances={
        "wave-standing": Entry(
            "A symplectic basis of six vectors for a standing wave, that of pyMOR's demo.",
            partial(_wave, 6, 0.1, 10.0, 0.5, 0.25),
        ),
        "wave-travelling": Entry(
            "A symplectic basis of eight vectors for two short waves that run and are reflected.",
            partial(_wave, 8, 1.0, 1.0, 0.3, 0.125),
        ),
    },
)
