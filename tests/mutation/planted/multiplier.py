"""Errors in Theta_X and in Q, which is read off psi (theta.py, companion.py, form.py)."""

from __future__ import annotations

from . import CONTRACT, errors_in

_THETA = "tests/geometry/test_multiplier.py"
_GAPS = "tests/mutation/test_gaps.py"
_t = errors_in("genorth/geometry/multiplier.py", CONTRACT, _THETA)
_c = errors_in("genorth/geometry/companion.py", _THETA, CONTRACT)
_f = errors_in("genorth/geometry/form.py", CONTRACT, "tests/geometry/test_random_points.py")

THETA = [
    _t("projection-sign", "sign", "ThetaSolver.project", "self.P @ -self", "self.P @ self",
       "P_X(D) = D - phi(X) Theta"),
    _t("projection-phi", "psi", "ThetaSolver.project", "self.P @ -self", "self.X @ -self", "P_X(D) = D - phi(X) Theta"),
    _t("closed-form-sign", "sign", "ClosedForm.theta", "R + ct(R)", "R - ct(R)", "Theta = (R + R^T)/2"),
    _t("closed-form-transpose", "transpose", "ClosedForm.theta", "R + ct(R)", "R + R", "Theta = (R + R^T)/2"),
    _t("closed-form-half", "factor", "ClosedForm.theta", "(R + ct(R)) / 2", "R + ct(R)", "Theta = (R + R^T)/2"),
    _t("eigen-n", "psi", "Eigendecomposition.__init__", "self.Q.right(P)", "P", "N = phi(X) Q"),
    _t("eigen-gram", "psi", "Eigendecomposition.spectrum", "ct(self.N) @ self.N", "ct(self.P) @ self.P",
       "K = N^T N, not phi(X)^T phi(X)"),
    _t("eigen-sums", "term", "Eigendecomposition.spectrum",
       "values[..., :, None] + values[..., None, :]", "2 * values[..., :, None]", "entries are divided by l_i + l_j"),
    _t("eigen-companion-sign", "sign", "Eigendecomposition._half", "R + ct(R) if self.sign > 0 else R - ct(R)",
       "R + ct(R)", "the right-hand side is N^T D + e D^T N"),
    _t("eigen-skew-always", "sign", "Eigendecomposition._half", "R + ct(R) if self.sign > 0 else R - ct(R)",
       "R - ct(R)", "the right-hand side is N^T D + e D^T N"),
    _t("eigen-rhs", "psi", "Eigendecomposition._half", "ct(self.N) @ D", "ct(self.P) @ D",
       "the right-hand side is N^T D + e D^T N"),
    _t("eigen-basis-in", "transpose", "Eigendecomposition._half",
       "Ut @ (R + ct(R) if self.sign > 0 else R - ct(R)) @ U",
       "U @ (R + ct(R) if self.sign > 0 else R - ct(R)) @ Ut", "the eigenbasis is U^T . U"),
    _t("eigen-basis-out", "transpose", "Eigendecomposition._half", "U @ (rotated / sums) @ Ut",
       "Ut @ (rotated / sums) @ U", "and back by U . U^T"),
    _t("eigen-theta-q", "psi", "Eigendecomposition.theta", "self.Q.left(self._half(D))", "self._half(D)",
       "Theta = Q Y"),
    _t("eigen-theta-right", "order", "Eigendecomposition.theta", "self.Q.left(self._half(D))",
       "self.Q.right(self._half(D))", "Theta = Q Y, not Y Q"),
    _t("eigen-project-sign", "sign", "Eigendecomposition.project", "self.N @ -self", "self.N @ self",
       "P_X(D) = D - N Y"),
    _t("eigen-project-q", "psi", "Eigendecomposition.project", "self.N @ -self", "self.P @ -self", "P_X(D) = D - N Y"),
    _t("cg-gram", "psi", "ConjugateGradients.gram", "ct(self.P) @ self.P", "ct(self.X) @ self.P",
       "K = phi(X)^T phi(X)"),
    _t("cg-outer-phi", "term", "ConjugateGradients.theta", "Phi(self.gram @ Phi(direction))",
       "self.gram @ Phi(direction)", "the equation is Phi(K Phi(T)) = Phi(R)"),
    _t("cg-rhs", "term", "ConjugateGradients.theta", "residual = direction = Phi(R)", "residual = direction = R",
       "the equation is Phi(K Phi(T)) = Phi(R)"),
    _t("cg-result", "term", "ConjugateGradients.theta", "return Phi(T)", "return T", "S = Phi(T) is in S1"),
    _t("cg-residual-sign", "sign", "ConjugateGradients.theta", "residual - step * image", "residual + step * image",
       "the residual falls"),
    _t("cg-directions", "term", "ConjugateGradients.theta", "residual + (rho / before) * direction", "residual",
       "directions are conjugate: the iteration ends after as many steps as there are unknowns"),
    _t("oracle-phi", "psi", "DenseLeastSquares.theta", "self.P @ S", "self.X @ S", "Theta minimises |phi(X) S - D|"),
    _t("s1-basis", "term", "symmetric_basis", "manifold.symmetrize(T)", "T + ct(T)", "S1 is the range of Phi"),
]  # fmt: skip

COMPANION = [
    _c("companion-no-inverse", "psi", "Companion.psi", "self.Qinv.right(self.Q.left(T))",
       "self.Q.right(self.Q.left(T))", "psi(T) = Q T Q^-1"),
    _c("companion-other-way", "order", "Companion.psi", "self.Qinv.right(self.Q.left(T))",
       "self.Q.right(self.Qinv.left(T))", "psi(T) = Q T Q^-1, not Q^-1 T Q"),
    _c("companion-left-only", "term", "Companion.psi", "self.Qinv.right(self.Q.left(T))", "self.Q.left(T)",
       "psi(T) = Q T Q^-1"),
    _c("read-sign", "sign", "_verified", "1 if turn.flat[0] > 0 else -1", "-1 if turn.flat[0] > 0 else 1",
       "Q^T = e Q gives e"),
    _c("read-turn", "factor", "_verified", "0.5j * np.angle", "1j * np.angle",
       "half of the angle makes a complex Q Hermitian", _GAPS),
    _c("read-columns", "transpose", "_read", "Q[..., i] =", "Q[..., i, :] =", "psi(E_i1) gives the column Q e_i",
       _GAPS),
    _c("read-symmetric", "sign", "_verified", "Q + sign * Q.mT.conj()", "Q + Q.mT.conj()", "a skew Q stays skew"),
    _c("read-conj", "transpose", "_verified", "star = Q.mT.conj()", "star = Q.mT", "Q^T = turn Q, with the conjugate",
       _GAPS),
]  # fmt: skip

FORM = [
    _f("form-q", "psi", "PhiForm.left", "[self.block] @ self.Q", "[self.block]", "A Y = phi(Y) Q (F13)"),
    _f("form-phi", "psi", "PhiForm.left", "np.asarray(self.manifold.phi(Y))", "Y", "A Y = phi(Y) Q (F13)"),
    _f("form-q-transposed", "transpose", "PhiForm.left", "@ self.Q", "@ self.Q.T", "A Y = phi(Y) Q (F13)"),
]  # fmt: skip

MUTANTS = [*THETA, *COMPANION, *FORM]
