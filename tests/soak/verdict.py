"""What is wrong with a Result, found anew in extended precision, F included."""

import math
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

import genorth as go
from genorth.geometry.bases import algebra_basis, realvec, symmetric_basis
from genorth.linalg.arrays import ct

from .problems import Case, Part

_LONG = {"f": np.longdouble, "c": np.clongdouble}
_EPS = 2.0**-52


class Judge:
    """Knows phi as a matrix and a basis of S1 for each variable; judges the results of solvers."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.variables = [_Variable(part) for part in case.parts]

    def wrong(self, found: go.Result, seconds: float) -> list[str]:
        """The names of what is wrong; none if all is well."""
        case, wrong = self.case, []
        parts = case.split(found.x)
        if seconds > case.limits["max_time"] + 1:
            wrong.append(f"time {seconds:.1f} s")
        if found.success != (found.status is go.Status.CONVERGED):
            wrong.append("success and status")
        if not all(np.isfinite(x).all() for x in parts):
            return [*wrong, "x is not finite"]
        with np.errstate(all="ignore"):
            f, G = float(case.value(*parts)), _size(*case.split(case.gradient(*parts)))
            size = sum(part.cost.size(x) for part, x in zip(case.parts, parts, strict=True))
            first = math.isfinite(float(case.value(*case.split(case.x0))))
            if case.term is not None:
                f += float(case.term(parts[0]))
                size += abs(float(case.term(parts[0])))
        usual = math.isfinite(f) and math.isfinite(G)
        kind = {part.cost.kind for part in case.parts}
        if usual and first and found.status is go.Status.NOT_FINITE and "nan" not in kind:
            wrong.append("NOT_FINITE where f is finite")
        if usual and math.isnan(found.gradient_norm) and G < 1e150:
            wrong.append("gradient_norm NaN")
        if found.fun != f and not abs(found.fun - f) <= 1e3 * _EPS * size and f == f:
            wrong.append(f"fun {found.fun!r}, not {f!r}")
        return wrong + (self.false_success(found, parts) if found.success else [])

    def false_success(self, found: go.Result, parts: list[Any]) -> list[str]:
        """Why x is no stationary point of M."""
        wrong, tol = [], self.case.tol
        at = [each.at(x) for each, x in zip(self.variables, parts, strict=True)]
        off, scale = _size(*[a.C for a in at]), max(1.0, _size(*[a.scale for a in at]))
        room, rounding = max(a.room for a in at), sum(a.rounding for a in at)
        if off > min((1.01e-12 + room) * scale + rounding, 1.01e-6 + rounding / 10):
            wrong.append(f"|C| = {off:.2e}, scale {scale:.2e}")
        if not _size(*[a.outside for a in at]) <= 1.01e-12 * _size(*parts):
            wrong.append(f"off F by {_size(*[a.outside for a in at]):.2e}")
        allowed = 2 * tol * (1 + 1e-6)
        if self.case.within is not None:
            rows, lower, upper = self.case.within
            c = rows @ parts[0].ravel()
            violation = np.maximum(lower - c, c - upper).max(initial=0.0)
            if not violation <= 1.01e-6:
                wrong.append(f"bounds violated by {violation:.2e}")
            # a multiplier of at most 1e-6 where a bound is not active, any of its sign where it is
            small = np.full(len(c), 1.01e-6)
            most = np.where(upper - c <= 1.01e-6, np.inf, small)
            least = np.where(c - lower <= 1.01e-6, -np.inf, -small)
            at[0].box(rows, least, most)
        elif isinstance(self.case.term, go.L1) and parts[0].dtype.kind == "f":
            # a subgradient of r at a point within |Z| <= tol t of x, t that of the measure
            x, mu = parts[0].ravel(), float(self.case.term.mu)
            G, r = at[0].G_size, mu * np.abs(x).sum()
            near = np.abs(x) <= allowed * _size(x) ** 2 / (_size(x) * G + r)
            least, most = np.where(near, -mu, mu * np.sign(x)), np.where(near, mu, mu * np.sign(x))
            at[0].box(np.eye(x.size), least, most)
        elif self.case.term is not None:
            return wrong  # no box holds the subgradients
        residual = _size(*[a.residual for a in at])
        if not residual <= allowed + sum(a.gradient_rounding for a in at):
            wrong.append(f"|grad f| = {residual:.2e} for tol {tol:g}")
        return wrong


class _Variable:
    """phi as a matrix and a basis of S1 for one variable; free ones have none."""

    def __init__(self, part: Part) -> None:
        self.cost, M = part.cost, part.manifold
        self.inward = getattr(M, "inward", lambda X: X)
        self.manifold = M = getattr(M, "blocks", M)
        self.free = isinstance(M, go.Euclidean)
        if self.free:
            return
        units = (1.0,) if M.dtype.kind == "f" else (1.0, 1.0j)
        images = []
        for index in np.ndindex(*M.shape):
            for unit in units:
                E = np.zeros(M.shape, M.dtype)
                E[index] = unit
                images.append(realvec(np.asarray(M.phi(M.ambient(E)), M.dtype)))
        self.phi_matrix = np.stack(images, axis=1).astype(np.longdouble)
        self.phi_norm = float(np.linalg.norm(self.phi_matrix.astype(float), 2))
        self.basis = symmetric_basis(M)
        images = [realvec(np.asarray(M.symmetrize(T))) for T in algebra_basis(M)]
        sizes = np.linalg.svd(images, compute_uv=False)[: len(self.basis)]
        self.basis_rounding = _EPS * sizes[0] / sizes[-1]  # by which the basis is off S1

    def at(self, x: Any) -> "_At":
        """Its figures at x."""
        return _At(self, x)

    def phi(self, X: Any) -> Any:
        """phi(X), in the precision of X."""
        image = self.phi_matrix @ realvec(X)
        return (image.view(X.dtype) if X.dtype.kind == "c" else image).reshape(X.shape)


class _At:
    """The figures of one variable at a point."""

    C = scale = rounding = outside = room = basis_rounding = 0.0

    def __init__(self, variable: _Variable, x: Any) -> None:
        M, long = variable.manifold, _LONG[x.dtype.kind]
        X = variable.inward(x.astype(long))
        G = np.asarray(variable.inward(variable.cost.gradient(x.astype(long))))
        self.inward, self.shape = variable.inward, x.shape
        self.images: list[Any] = []
        if not variable.free:
            P = variable.phi(X)
            C = ct(X) @ P
            self.C, self.scale = _size(C - np.eye(C.shape[-1])), _size(X) * _size(P)
            self.rounding = 10 * M.shape[-1] * _EPS * variable.phi_norm * _size(X) ** 2
            if M.ambient_projector is not None:
                self.outside = _size(X - M.ambient(X.astype(M.dtype)))
                G = M.ambient(G.astype(M.dtype)).astype(G.dtype)
            each = (P @ S.astype(P.dtype) for S in variable.basis)
            self.images = [realvec(np.ascontiguousarray(V)) for V in each]
            self.basis_rounding = variable.basis_rounding
        self.room = 1e2 * max(M.shape) * _EPS
        self.G_size = _size(G)
        self.g = realvec(np.ascontiguousarray(G)).astype(np.longdouble)

    def box(self, rows: Any, least: Any, most: Any) -> None:
        """Add to G what brings it nearest to the normal space: y times rows, y in a box."""
        each = (self.inward(row.reshape(self.shape)) for row in rows)
        columns = np.stack([realvec(np.ascontiguousarray(E)) for E in each], axis=1)
        fixed = least == most
        self.g = self.g + columns[:, fixed] @ least[fixed]
        columns, least, most = columns[:, ~fixed], least[~fixed], most[~fixed]
        if least.size:
            tangent, g = (self._off(V).astype(float) for V in (columns, self.g))
            y = lsq_linear(tangent, -g, (least, most), "bvls").x
            self.g = self.g + columns @ y

    def _normals(self) -> Any:
        """An orthonormal basis of the normal space, by Gram and Schmidt."""
        kept: list[Any] = []
        for v in self.images:
            length, w = np.sqrt(v @ v), v
            for _ in range(2):
                for q in kept:
                    w = w - (q @ w) * q
            if np.sqrt(w @ w) > 1e-17 * length:
                kept.append(w / np.sqrt(w @ w))
        return np.stack(kept, axis=1) if kept else None

    def _off(self, v: Any) -> Any:
        Q = self._normals()
        for _ in range(0 if Q is None else 2):
            v = v - Q @ (Q.T @ v)
        return v

    @property
    def residual(self) -> float:
        """|G - phi(X) S| at its smallest over S in S1."""
        return _size(self._off(self.g))

    @property
    def gradient_rounding(self) -> float:
        """What rounding leaves of it: |G| and |phi(X)| |S|."""
        multiplier = 0.0
        if self.images:
            matrix = np.stack(self.images, axis=1).astype(float)
            S = np.linalg.lstsq(matrix, self.g.astype(float), rcond=None)[0]
            multiplier = float(np.linalg.norm(matrix) * np.linalg.norm(S))
        return self.room * (_size(self.g) + multiplier) + self.basis_rounding * multiplier


def _size(*arrays: Any) -> float:
    return float(np.sqrt(sum((np.abs(V) ** 2).sum() for V in arrays)))
