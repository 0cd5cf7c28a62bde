"""Errors in C, A, their derivatives, the projection of Hessians, restoration and dimension (manifold.py, _array.py)."""

from __future__ import annotations

from . import CONTRACT, errors_in

_array = errors_in("genorth/linalg/arrays.py", CONTRACT)
_e = errors_in("genorth/geometry/manifold.py", CONTRACT)
_BAD_POINTS = "tests/geometry/test_bad_points.py"
_GAPS = "tests/mutation/test_gaps.py"

ARRAY = [
    _array("array-ct-conj", "transpose", "ct", "namespace(X).conj(X.mT) if is_complex(X) else X.mT", "X.mT",
           "X^T conjugates where entries are complex"),
    _array("array-inner-real", "transpose", "inner", "np.vdot(U, V).real", "np.sum(U * V).real",
           "<U, V> = Re tr(U^T V) conjugates U"),
    _array("array-norm-square", "factor", "norm", "np.sqrt(np.vdot(U, U).real)", "np.vdot(U, U).real",
           "|U| = <U, U>^(1/2)"),
]  # fmt: skip

HESSIAN = [
    _e("hessian-sign", "sign", "TangentSpace.hessian", "@ -multiplier", "@ multiplier",
       "hess f[Z] = P_X(ehess - phi(Z) Theta)"),
    _e("hessian-phi", "psi", "TangentSpace.hessian", "self.manifold.phi(Z)", "Z",
       "hess f[Z] = P_X(ehess - phi(Z) Theta)"),
    _e("hessian-no-projection", "term", "TangentSpace.hessian",
       "self.project(plus(self.manifold.phi(Z) @ -multiplier, ehess))",
       "plus(self.manifold.phi(Z) @ -multiplier, ehess)",
       "hess f[Z] is tangent"),
    _e("hessian-no-curvature", "term", "TangentSpace.hessian",
       "plus(self.manifold.phi(Z) @ -multiplier, ehess)", "ehess", "the Hessian has the term of the normal part"),
    _e("gradient-no-projection", "term", "TangentSpace.gradient", "self.project(egrad)", "egrad",
       "grad f = P_X(egrad)"),
]  # fmt: skip

DIMENSION = [
    _e("dim-trace-sign", "sign", "GenOrthManifold.dim", "(G + trace)", "(G - trace)",
       "dim S1 = (dim G + trace of T -> psi(T^T))/2 (F10)"),
    _e("dim-companion-sign", "sign", "GenOrthManifold.dimensions", "p * self.companion.sign", "p",
       "the trace is p e for psi(T) = Q T Q^-1, Q^T = e Q"),
    _e("dim-complex-trace", "term", "GenOrthManifold.dimensions", "if real == 1 else 0", "if real else 0",
       "the trace over a complex algebra is zero"),
    _e("dim-complex-factor", "factor", "GenOrthManifold.dimensions", "real * blocks * p * p", "blocks * p * p",
       "dim G counts real dimensions"),
    _e("dim-basis-transpose", "transpose", "GenOrthManifold.dimensions", "self.psi(ct(T))", "self.psi(T)",
       "F10 takes the trace of T -> psi(T^T)"),
    _e("dim-ambient-units", "factor", "GenOrthManifold._ambient_dimension", "len(units) * math.prod(self.shape)",
       "math.prod(self.shape)", "dim F counts real dimensions"),
]  # fmt: skip

CONSTRAINT = [
    _e("gram-transposed", "psi", "GenOrthManifold.gram", "ct(X) @ self.phi(Y)", "ct(self.phi(X)) @ Y",
       "the Gram matrix is X^T phi(Y), and phi(X)^T Y = psi^-1 of it"),
    _e("gram-conj", "transpose", "GenOrthManifold.gram", "ct(X) @", "X.mT @", "X^T conjugates"),
    _e("phi-map-psi", "psi", "GenOrthManifold.symmetrize", "self.psi(T)", "T", "Phi(T) = T^T + psi(T)"),
    _e("phi-map-transpose", "transpose", "GenOrthManifold.symmetrize", "ct(T) +", "T +", "Phi(T) = T^T + psi(T)"),
    _e("phi-map-sign", "sign", "GenOrthManifold.symmetrize", "ct(T) +", "ct(T) -", "Phi(T) = T^T + psi(T)"),
    _e("phi-map-half", "factor", "GenOrthManifold.symmetrize", "ct(T) + self.psi(T)", "(ct(T) + self.psi(T)) / 2",
       "Phi(T) = T^T + psi(T)"),
    _e("constraint-sign", "sign", "GenOrthManifold.constraint", "S - eye_like(S)", "S + eye_like(S)",
       "C(X) = X^T phi(X) - I"),
    _e("scale-phi", "psi", "GenOrthManifold.scale", "self.norm(self.phi(X))", "self.norm(X)",
       "tolerances are relative to max(1, |X| |phi(X)|)", _GAPS),
    _e("dc-phi", "psi", "GenOrthManifold.constraint_differential", "ct(self.phi(X)) @ Z", "ct(X) @ Z",
       "DC(X)[Z] = Phi(phi(X)^T Z)"),
    _e("dc-phi-on-z", "psi", "GenOrthManifold.constraint_differential", "ct(self.phi(X)) @ Z", "ct(X) @ self.phi(Z)",
       "DC(X)[Z] = Phi(phi(X)^T Z), not Phi(X^T phi(Z)) where psi is not the identity"),
    _e("dc-adjoint-phi", "psi", "GenOrthManifold.constraint_adjoint", "self.phi(X) @", "X @",
       "DC(X)*[T] = phi(X) Phi(T)"),
    _e("dc-adjoint-transpose", "transpose", "GenOrthManifold.constraint_adjoint", "self.symmetrize(T)",
       "self.symmetrize(ct(T))", "DC(X)*[T] = phi(X) Phi(T)"),
]  # fmt: skip

DISSOLVING = [
    _e("dissolve-factor", "factor", "GenOrthManifold._dissolving_factor", "1.5 * eye_like(S)", "1.25 * eye_like(S)",
       "A(X) = 3/2 X - 1/2 X phi(X)^T X"),
    _e("dissolve-sign", "sign", "GenOrthManifold._dissolving_factor", "- 0.5 * S", "+ 0.5 * S",
       "A(X) = 3/2 X - 1/2 X phi(X)^T X"),
    _e("dissolve-transpose", "transpose", "GenOrthManifold._dissolving_factor", "ct(P) @ X", "ct(X) @ P",
       "A(X) has phi(X)^T X, and X^T phi(X) is its psi"),
    _e("da-psi", "psi", "GenOrthManifold.dissolve_differential", "ct(self.psi(T))", "ct(T)",
       "phi(Z)^T X = psi(phi(X)^T Z)^T in DA(X)[Z]"),
    _e("da-transpose", "transpose", "GenOrthManifold.dissolve_differential", "ct(self.psi(T))", "self.psi(T)",
       "phi(Z)^T X = psi(phi(X)^T Z)^T in DA(X)[Z]"),
    _e("da-sign", "sign", "GenOrthManifold.dissolve_differential", "- X @ ((T", "+ X @ ((T", "DA(X)[Z]"),
    _e("da-half", "factor", "GenOrthManifold.dissolve_differential", "(T + ct(self.psi(T))) / 2",
       "T + ct(self.psi(T))", "DA(X)[Z]"),
    _e("da-off-manifold", "term", "GenOrthManifold.dissolve_differential", "Z @ self._dissolving_factor(X, P)", "Z",
       "DA(X)[Z] = Z W - ...; W = I on M only"),
    _e("da-adjoint-w", "transpose", "GenOrthManifold.dissolve_adjoint", "T @ ct(self._dissolving_factor(X, P))",
       "T @ self._dissolving_factor(X, P)", "DA(X)*[T] = T W^T - phi(X) Phi(T^T X)/2"),
    _e("da-adjoint-r", "transpose", "GenOrthManifold.dissolve_adjoint", "ct(T) @ X", "ct(X) @ T",
       "DA(X)*[T] = T W^T - phi(X) Phi(T^T X)/2"),
    _e("da-adjoint-phi", "psi", "GenOrthManifold.dissolve_adjoint", "- P @ (", "- X @ (",
       "DA(X)*[T] = T W^T - phi(X) Phi(T^T X)/2"),
    _e("da-adjoint-half", "factor", "GenOrthManifold.dissolve_adjoint", "self.symmetrize(R) / 2", "self.symmetrize(R)",
       "DA(X)*[T] = T W^T - phi(X) Phi(T^T X)/2"),
    _e("d2a-first", "term", "GenOrthManifold.dissolve_second_adjoint", "T @ Phi(PtZ) + ", "", "D^2 A* has three terms"),
    _e("d2a-second", "term", "GenOrthManifold.dissolve_second_adjoint", "P @ Phi(TtZ) + ", "",
       "D^2 A* has three terms"),
    _e("d2a-third", "term", "GenOrthManifold.dissolve_second_adjoint", " + PZ @ Phi(ct(T) @ X)", "",
       "D^2 A* has three terms"),
    _e("d2a-sign", "sign", "GenOrthManifold.dissolve_second_adjoint", "return -(T", "return (T", "D^2 A* is negative"),
    _e("d2a-half", "factor", "GenOrthManifold.dissolve_second_adjoint", "Phi(ct(T) @ X)) / 2", "Phi(ct(T) @ X))",
       "D^2 A* has the factor 1/2"),
    _e("d2a-transpose", "transpose", "GenOrthManifold.dissolve_second_adjoint", "PZ @ Phi(ct(T) @ X)",
       "PZ @ Phi(ct(X) @ T)", "the third term has T^T X"),
]  # fmt: skip

POINTS = [
    _e("transport-at-x", "order", "GenOrthManifold.transport", "self.project(Y, Z)", "self.project(X, Z)",
       "Z is carried to Y by P_Y"),
    _e("restore-transpose", "transpose", "GenOrthManifold.restore", "ct(P) @ X, X=X", "ct(X) @ P, X=X",
       "A(X) = X (3I - phi(X)^T X)/2 in restore"),
    _e("restore-newton", "factor", "GenOrthManifold.restore", "1.5 * eye - 0.5 * S", "2 * eye - S",
       "restore iterates A, which squares the violation (F6)", _BAD_POINTS),
    _e("restore-sign", "sign", "GenOrthManifold.restore", "1.5 * eye - 0.5 * S", "0.5 * eye + 0.5 * S",
       "restore iterates A, which squares the violation (F6)"),
    _e("restore-linear", "factor", "GenOrthManifold.restore", "1.5 * eye - 0.5 * S", "1.25 * eye - 0.25 * S",
       "restore converges quadratically (F6)", _GAPS),
    _e("random-tangent", "term", "GenOrthManifold.random_tangent",
       "self.project(X, _array.as_like(self.random_ambient(rng), X))", "_array.as_like(self.random_ambient(rng), X)",
       "a random tangent vector is tangent"),
]  # fmt: skip

MUTANTS = [*ARRAY, *HESSIAN, *DIMENSION, *CONSTRAINT, *DISSOLVING, *POINTS]
