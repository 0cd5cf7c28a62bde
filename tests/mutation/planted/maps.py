"""Errors in phi and psi of the manifolds, in the operators they are made of, and in inertia and directions."""

from __future__ import annotations

from . import CONTRACT, errors_in

_GAPS = "tests/mutation/test_gaps.py"
_SYMPLECTIC = "tests/manifolds/test_symplectic.py"
_TENSOR = "tests/manifolds/test_tensor.py"
_INPUTS = "tests/linalg/test_inputs.py"
_POINTS = "tests/geometry/test_random_points.py"
_s = errors_in("genorth/manifolds/symplectic.py", _SYMPLECTIC, CONTRACT)
_b = errors_in("genorth/manifolds/bilinear.py", CONTRACT)
_i = errors_in("genorth/manifolds/indefinite.py", CONTRACT, _POINTS)
_h = errors_in("genorth/manifolds/hyperbolic.py", CONTRACT, "tests/manifolds/test_bad_input.py")
_g = errors_in("genorth/manifolds/generalized.py", CONTRACT, "tests/manifolds/test_bad_input.py")
_st = errors_in("genorth/manifolds/stiefel.py", CONTRACT, "tests/geometry/test_multiplier.py")
_t = errors_in("genorth/manifolds/tensor.py", CONTRACT, _TENSOR)
_fm = errors_in("genorth/manifolds/maps.py", CONTRACT)
_o = errors_in("genorth/linalg/operators.py", CONTRACT, _INPUTS, _SYMPLECTIC)
_n = errors_in("genorth/linalg/inertia.py", _INPUTS, "tests/manifolds/test_bad_input.py", _POINTS)
_z = errors_in("genorth/linalg/krylov.py", _POINTS, "tests/manifolds/test_bad_input.py")

MANIFOLDS = [
    _s("symplectic-signs", "sign", "", "[[1.0, -1.0], [-1.0, 1.0]]", "[[-1.0, 1.0], [1.0, -1.0]]", "phi(X) = -J X J"),
    _s("symplectic-columns", "term", "_turned", "[..., ::-1, :, ::-1, :]", "[..., ::-1, :, :, :]",
       "-J X J exchanges blocks of rows and of columns"),
    _s("symplectic-flip", "term", "_turned", "axis=(-4, -2)", "axis=(-4,)",
       "-J X J exchanges blocks of rows and of columns, in every library"),
    _s("symplectic-product-sign", "sign", "_turned", "np.matmul(lower, minus_J", "np.matmul(lower, J",
       "phi(X) = -J X J"),
    _s("symplectic-block-sign", "sign", "_turned", "np.negative(lower", "np.positive(lower", "phi(X) = -J X J"),
    _s("symplectic-block-order", "order", "_turned", "Y[..., :h, :k] = lower[..., k:]",
       "Y[..., :h, :k] = lower[..., :k]", "phi(X) = -J X J"),
    _s("symplectic-psi", "psi", "SymplecticStiefel.psi", "_turned(T)", "T", "psi(T) = -J T J"),
    _s("symplectic-symmetry", "sign", "SymplecticStiefel.__init__", "SymplecticUnit(p), -1)", "SymplecticUnit(p), 1)",
       "J^T = -J"),
    _b("bilinear-phi-inverse", "psi", "FormManifold.phi", "self.right.Qinv.right(self.left.left(X))",
       "self.left.left(X)", "phi(X) = A X R^-1"),
    _b("bilinear-phi-q", "psi", "FormManifold.phi", "self.right.Qinv", "self.right.Q", "phi(X) = A X R^-1, not A X R"),
    _b("bilinear-psi", "psi", "FormManifold.psi", "self.right.psi(T)", "T", "psi(T) = R T R^-1"),
    _b("bilinear-sign", "sign", "BilinearStiefel.__init__", "Companion(Q, sign)", "Companion(Q, 1)", "R^T = e R"),
    _i("indefinite-sign", "sign", "IndefiniteStiefel.__init__", "Companion(Q, 1)", "Companion(Q, -1)", "J^T = J"),
    _i("indefinite-signature", "sign", "IndefiniteStiefel.__init__", "(Q.size - float", "(Q.size + float",
       "tr J = p - 2 negative", "tests/manifolds/test_bad_input.py"),
    _h("hyperbolic-signature", "order", "HyperbolicStiefel.__init__", "p, 0)", "0, p)",
       "H needs p positive eigenvalues"),
    _g("generalized-definite", "term", "GeneralizedStiefel.__init__", "        require_positive(left)\n", "",
       "B must be positive definite"),
    _g("generalized-isometric", "psi", "GeneralizedStiefel", "definite = True", "definite = isometric = True",
       "phi(X)^T phi(X) = I on M holds for B = I only: Theta has no closed form"),
    _st("stiefel-dtype", "term", "Stiefel.__init__", "Identity(n, check_dtype(dtype))", "Identity(n)",
        "a complex Stiefel manifold has complex points",
        "tests/penalty/test_minimize.py::test_known_minimum_from_random_starts"),
    _fm("from-maps-psi", "psi", "_FromMaps.psi", "self._psi(T)", "T", "psi is the user's"),
    _fm("from-maps-phi", "psi", "_FromMaps.phi", "self._phi(X)", "X", "phi is the user's"),
    _t("mirror-conj", "transpose", "_mirror", "xp.conj(xp.roll(xp.flip(X, axis=0), 1, axis=0))",
       "xp.roll(xp.flip(X, axis=0), 1, axis=0)", "X_(-k) = conj(X_k) for real tensors"),
    _t("mirror-roll", "order", "_mirror", "xp.roll(xp.flip(X, axis=0), 1, axis=0)", "xp.flip(X, axis=0)",
       "block -k, not l-1-k"),
    _t("mirror-half", "factor", "_mirror", ") / 2", ")", "a projector is idempotent"),
    _t("dft-real-blocks", "factor", "TensorStiefel.dimensions", "1 if self.l % 2 else 2", "1",
       "two blocks are real for even l"),
    _t("tensor-inverse", "transpose", "TensorStiefel.to_tensor", "np.linalg.inv(self._matrix())", "self._matrix().T",
       "the way back is M^-1"),
    _t("tensor-dct-norm", "factor", "TensorStiefel._matrix", ', norm="ortho"', "",
       "the cosine transform is orthonormal", _GAPS),
    _t("tensor-transform-transposed", "transpose", "TensorStiefel._transformed", "as_like(M, flat) @ flat",
       "as_like(M.T, flat) @ flat", "blocks are X x_3 M"),
    _t("tensor-axes", "order", "TensorStiefel.from_tensor", "(2, 0, 1)", "(2, 1, 0)",
       "block k is the k-th face, not its transpose"),
]  # fmt: skip

OPERATORS = [
    _o("diagonal-left", "transpose", "Diagonal.left", "as_like(self.d, X)[:, None] * X", "as_like(self.d, X) * X",
       "diag(d) X scales rows"),
    _o("diagonal-inverse", "factor", "Diagonal.inverse", "1.0 / np.asarray(self.d)", "np.asarray(self.d)",
       "diag(d)^-1 = diag(1/d)"),
    _o("diagonal-directions", "sign", "Diagonal.directions", "sign * np.asarray", "np.asarray",
       "directions of the wanted sign", _POINTS),
    _o("j-left", "sign", "SymplecticUnit.left", "[lower, -upper] if", "[-lower, upper] if",
       "J X, J = [[0, I], [-I, 0]]", _SYMPLECTIC),
    _o("j-right", "sign", "SymplecticUnit.right", "[-second, first] if", "[second, -first] if", "X J", _SYMPLECTIC),
    _o("j-matrix", "sign", "symplectic_units", "k=half, dtype=dtype) - np.eye", "k=half, dtype=dtype) + np.eye",
       "J is skew", _SYMPLECTIC),
    _o("j-inverse", "sign", "SymplecticUnit.inverse", "-self.factor", "self.factor", "J^-1 = -J", _SYMPLECTIC),
    _o("dense-right", "order", "Dense.right", "X @ as_like(self.M, X)", "X @ as_like(self.M, X).mT", "X M"),
    _o("dense-inverse-half", "factor", "Dense.inverse", "inv + inv.mT.conj()) / 2)", "inv + inv.mT.conj()))",
       "the inverse, made symmetric"),
    _o("dense-inverse-skew", "sign", "Dense.inverse", "inv - inv.mT.conj() if", "inv + inv.mT.conj() if",
       "the inverse of a skew matrix is skew"),
    _o("dense-directions", "sign", "Dense.directions", "if sign > 0 else", "if sign < 0 else",
       "the ends of the spectrum", _POINTS),
]  # fmt: skip

INERTIA = [
    _n("skew-test", "sign", "is_skew", "< 0", "> 0", "M^T nearer to -M than to M"),
    _n("dense-inertia-off", "term", "of_dense",
       "scipy.linalg.eigvalsh_tridiagonal(diagonal, off) if off.size else diagonal", "diagonal",
       "D has blocks of size two"),
    _n("dense-inertia-skew", "factor", "of_dense", "1j * M if is_skew(M) else M", "M",
       "the counts of a skew K are those of iK"),
    _n("discs", "sign", "_by_discs", "np.abs(diagonal) - radius, ", "np.abs(diagonal) + radius, ",
       "Gershgorin's discs miss zero where |m_ii| exceeds the radius"),
    _n("pivots", "sign", "of_sparse", "int((pivots > 0).sum()), int((pivots < 0).sum())",
       "int((pivots < 0).sum()), int((pivots > 0).sum())", "positive pivots are positive eigenvalues"),
    _n("shifted", "order", "of_sparse", "None if negative is None else M.shape[0] - negative, negative",
       "negative, None if negative is None else M.shape[0] - negative", "the arguments count negative eigenvalues"),
    _n("angles", "factor", "_shifted_count", "sum() / np.pi", "sum() / (2 * np.pi)",
       "each negative eigenvalue is half a turn"),
    _n("sparse-pivot-sign", "sign", "sparse_directions", "sign * lu.U.diagonal().real", "lu.U.diagonal().real",
       "directions of the wanted sign"),
    _n("sparse-permutation", "order", "sparse_directions", ".toarray()[lu.perm_r]", ".toarray()",
       "in the order of the rows of M"),
    _n("sparse-scaling", "term", "sparse_directions", "V = scale[:, None] * V", "V = V + 0", "v = D L^-T e_j", _GAPS),
    _z("ritz-order", "sign", "signed_directions", "np.argsort(-sign * values)", "np.argsort(sign * values)",
       "the Ritz values of the wanted sign come first"),
    _z("ritz-found", "sign", "signed_directions", "sign * values > noise", "values > noise", "of the given sign"),
    _z("ritz-orthogonal", "sign", "_orthonormalized", "V - K @", "V + K @", "V is orthogonal to K"),
    _z("ritz-projection", "term", "_orthonormalized", "V - K @ (ct(K) @ V)", "V", "V is orthogonal to K"),
]  # fmt: skip

MUTANTS = [*MANIFOLDS, *OPERATORS, *INERTIA]
