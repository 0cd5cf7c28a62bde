"""pyamg: lowest modes of its bundled finite-element matrices, A x = w^2 B x.

The p lowest eigenvalues of the stiffness matrix A and the mass matrix B minimise a trace:

    min tr(X^T A X) over X^T B X = I is w_1^2 + ... + w_p^2   [fan1949theorem].

pyamg has A and the mesh; B is that of linear triangles for the airfoil, and lumped (a diagonal) for
the bricks of the bar. The metric is the inverse of one V-cycle of smoothed aggregation
[bell2023pyamg], the preconditioner with which `scipy-lobpcg` runs too [knyazev2001toward]; a metric
needs its square root, so that we form its matrix, which these sizes allow. The start is one V-cycle
on random vectors. An evaluation is one product A X, and so it is counted for `scipy-lobpcg`.
"""

from __future__ import annotations

import math
import warnings
from functools import cache, partial
from typing import Any

import attrs
import numpy as np
import scipy.sparse.linalg

import genorth as go
from genorth.gallery.base import (
    Entry,
    Instance,
    Source,
    Visit,
    domain_solver,
    orthonormal,
    trace_problem,
)
from genorth.gallery.preconditioners import amg_preconditioner
from genorth.linalg.arrays import Array, norm


@attrs.frozen
class _Model:
    """A, B (sparse or a diagonal), one V-cycle as a LinearOperator, and the mesh."""

    A: Any
    B: Any
    cycle: Any
    vertices: Array
    elements: Array

    @property
    def mass(self) -> Any:
        """B as a sparse matrix."""
        return self.B if scipy.sparse.issparse(self.B) else scipy.sparse.diags_array(self.B)


@cache
def _model(name: str) -> _Model:
    import pyamg

    data = pyamg.gallery.load_example(name)
    A, vertices, elements = data["A"].tocsr(), data["vertices"], data["elements"].astype(int)
    near_null, free = data["B"].astype(float), A.shape[0]
    mass = _triangles if name == "airfoil" else _bricks
    precondition = amg_preconditioner(A, near_null, max_coarse=20)
    B = mass(vertices, elements, free)
    return _Model(A, B, precondition.cycle, vertices, elements)  # type: ignore[attr-defined]


def _triangles(vertices: Array, elements: Array, free: int) -> Any:
    """The mass matrix of linear triangles, without the fixed vertices, which come last."""
    a, b = np.moveaxis(vertices[elements[:, 1:]] - vertices[elements[:, :1]], 1, 0)
    areas = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
    entries = areas[:, None] * (np.ones((3, 3)) + np.eye(3)).ravel() / 12
    where = np.repeat(elements, 3, axis=1).ravel(), np.tile(elements, 3).ravel()
    return scipy.sparse.csr_array((entries.ravel(), where))[:free, :free]


def _bricks(vertices: Array, elements: Array, free: int) -> Array:
    """The lumped mass matrix of bricks along the axes: an eighth of each in its corners."""
    volumes = np.prod(np.ptp(vertices[elements], axis=1), axis=1)
    masses = np.bincount(elements.ravel(), np.repeat(volumes / 8, 8))
    return np.repeat(masses, 3)[:free]


def _lobpcg(name: str, problem: go.Problem, x0: Array, visit: Visit) -> None:
    """SciPy's lobpcg. It shows no iterates but the last, so that its histories make the trace."""
    model, monitor = _model(name), visit.monitor
    calls: list[tuple[float, Array, tuple[float, Array]]] = []

    def product(X: Array) -> Array:  # of columns that have not converged
        monitor.check()
        columns = np.zeros_like(x0)
        columns[:, : X.shape[1]] = X
        calls.append((monitor.elapsed, columns, problem.evaluate(columns)))
        return calls[-1][2][1][:, : X.shape[1]] / 2

    with warnings.catch_warnings():  # that tol is not reached: the Result says so
        warnings.simplefilter("ignore", UserWarning)
        *_, values, residuals = scipy.sparse.linalg.lobpcg(
            scipy.sparse.linalg.LinearOperator(model.A.shape, product, matmat=product, dtype=float),
            x0.copy(),
            model.mass,
            model.cycle,
            largest=False,
            retLambdaHistory=True,
            retResidualNormsHistory=True,
            tol=monitor.tol / (2 * x0.shape[1] ** 0.5),  # |grad f| <= 2 |A X - B X diag(values)|
            maxiter=monitor.options.max_iterations or 10_000,
        )
    rows = zip(calls[:-1], values, residuals, strict=False)
    for k, ((time, *_), value, residual) in enumerate(rows, 1):
        monitor.trace.append(time, float(value.sum()), 2 * float(norm(residual)), math.nan, k)
    _, last, known = calls[-1]  # its last product is with what it returns
    visit(last, known)


def _modes(name: str, p: int) -> Instance:
    model = _model(name)
    manifold = go.GeneralizedStiefel(model.B, p)
    n = manifold.shape[0]
    random = np.random.default_rng(0).standard_normal((n, p))
    cycle = model.cycle.matmat(np.eye(n))
    W = np.linalg.inv((cycle + cycle.T) / 2)
    values = scipy.sparse.linalg.eigsh(
        model.A.tocsc(), p, model.mass.tocsc(), sigma=0.0, return_eigenvectors=False
    )
    return Instance(
        problem=trace_problem(2 * model.A, manifold),
        start=orthonormal(manifold, model.cycle.matmat(random)),
        truth=float(values.sum()),
        truth_by="scipy.sparse.linalg.eigsh",
        metric=(W + W.T) / 2,
        solvers=(
            domain_solver(
                "scipy-lobpcg",
                partial(_lobpcg, name),
                cites=("knyazev2001toward", "bell2023pyamg"),
            ),
        ),
        draw=partial(_draw, model),
    )


def _draw(model: _Model, ax: Any, X: Array) -> None:
    """The lowest mode: its values on the triangles, or the bar bent by it, seen from the side."""
    mode = X @ np.linalg.eigh(X.T @ (model.A @ X))[1][:, 0]
    nodes = model.vertices
    values = np.zeros(nodes.size if nodes.shape[1] == 3 else len(nodes))
    values[: len(mode)] = mode
    if nodes.shape[1] == 2:
        ax.tripcolor(*nodes.T, model.elements, values, shading="gouraud", cmap="RdBu")
    else:
        shift = values.reshape(nodes.shape) / np.abs(values).max()
        side = 1 + int(np.abs(shift[:, 2]).max() > np.abs(shift[:, 1]).max())
        ax.plot(nodes[:, 0], nodes[:, side], ".", color="0.8")
        ax.plot(*(nodes + shift)[:, [0, side]].T, ".")
    ax.set(aspect="equal", xticks=[], yticks=[])


SOURCE = Source(
    package="pyamg",
    module="pyamg",
    oldest="5.2",
    instances={
        "modes-airfoil": Entry(
            "The five slowest modes of diffusion around an airfoil, on 260 free vertices.",
            partial(_modes, "airfoil", 5),
        ),
        "modes-bar": Entry(
            "The six lowest vibrations of an elastic bar, clamped at one end, 600 unknowns.",
            partial(_modes, "bar", 6),
        ),
    },
)
