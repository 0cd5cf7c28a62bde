"""What is wrong with a Result, found anew in extended precision, F included."""

import math
from typing import Any

import numpy as np

import genorth as go
from genorth.geometry.bases import realvec, symmetric_basis
from genorth.linalg.arrays import ct

from .problems import MAX_TIME, Case

_LONG = {"f": np.longdouble, "c": np.clongdouble}
_EPS = 2.0**-52


class Judge:
    """Knows phi as a matrix and a basis of S1 of one case; judges the results of all solvers."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.inward = getattr(case.manifold, "inward", lambda X: X)
        self.manifold = M = getattr(case.manifold, "blocks", case.manifold)
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

    def wrong(self, found: go.Result, seconds: float) -> list[str]:
        """The names of what is wrong; none if all is well."""
        case, wrong = self.case, []
        x = np.asarray(found.x)
        size = case.cost.size(x)
        if seconds > MAX_TIME + 1:
            wrong.append(f"time {seconds:.1f} s")
        if found.success != (found.status is go.Status.CONVERGED):
            wrong.append("success and status")
        if not np.isfinite(x).all():
            return [*wrong, "x is not finite"]
        with np.errstate(all="ignore"):
            f, G = float(case.cost.value(x)), case.cost.gradient(x)
            usual = math.isfinite(f) and bool(np.isfinite(G).all())
            first = math.isfinite(float(case.cost.value(case.x0)))
        if usual and first and found.status is go.Status.NOT_FINITE and case.cost.kind != "nan":
            wrong.append("NOT_FINITE where f is finite")
        if usual and math.isnan(found.gradient_norm) and np.linalg.norm(G) < 1e150:
            wrong.append("gradient_norm NaN")
        if found.fun != f and not abs(found.fun - f) <= 1e3 * _EPS * size and f == f:
            wrong.append(f"fun {found.fun!r}, not {f!r}")
        return wrong + (self.false_success(found, x) if found.success else [])

    def false_success(self, found: go.Result, x: Any) -> list[str]:
        """Why x is no stationary point of M."""
        wrong, tol, M = [], self.case.tol, self.manifold
        X = self.inward(x.astype(_LONG[x.dtype.kind]))
        G = np.asarray(self.inward(self.case.cost.gradient(x.astype(_LONG[x.dtype.kind]))))
        P = self._phi(X)
        C = ct(X) @ P
        C = C - np.eye(C.shape[-1])
        room = 1e2 * max(M.shape) * _EPS
        scale = max(1.0, self._size(X) * self._size(P))
        rounding = 10 * M.shape[-1] * _EPS * self.phi_norm * self._size(X) ** 2
        if not self._size(C) <= min((1.01e-12 + room) * scale + rounding, 1.01e-6):
            wrong.append(f"|C| = {self._size(C):.2e}, scale {scale:.2e}")
        if M.ambient_projector is not None:
            outside = self._size(X - M.ambient(X.astype(M.dtype)))
            if not outside <= 1.01e-12 * self._size(X):
                wrong.append(f"off F by {outside:.2e}")
            G = M.ambient(G.astype(M.dtype)).astype(G.dtype)
        residual, multiplier = self._tangent(P, G)
        if not residual <= 2 * tol * (1 + 1e-6) + room * (self._size(G) + multiplier):
            wrong.append(f"|grad f| = {residual:.2e} for tol {tol:g}")
        return wrong

    def _phi(self, X: Any) -> Any:
        """phi(X), in the precision of X."""
        image = self.phi_matrix @ realvec(X)
        return (image.view(X.dtype) if X.dtype.kind == "c" else image).reshape(X.shape)

    def _size(self, X: Any) -> float:
        return float(np.sqrt((np.abs(X) ** 2).sum()))

    def _tangent(self, P: Any, G: Any) -> tuple[float, float]:
        """|G - phi(X) S| at its smallest over S in S1, by Gram and Schmidt; and |phi(X)| |S|."""
        g = realvec(G).astype(np.longdouble)
        images = [realvec(np.ascontiguousarray(P @ S.astype(P.dtype))) for S in self.basis]
        matrix = np.stack(images, axis=1).astype(float)
        S = np.linalg.lstsq(matrix, g.astype(float), rcond=None)[0]
        kept: list[Any] = []
        for v in images:
            length = np.sqrt(v @ v)
            for _ in range(2):
                for q in kept:
                    v = v - (q @ v) * q
            if np.sqrt(v @ v) > 1e-17 * length:
                kept.append(v / np.sqrt(v @ v))
        rest = g
        for _ in range(2):
            for q in kept:
                rest = rest - (q @ rest) * q
        return float(np.sqrt(rest @ rest)), float(np.linalg.norm(matrix) * np.linalg.norm(S))
