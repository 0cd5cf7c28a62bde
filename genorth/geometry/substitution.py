"""Substitution X = T Y, T invertible n x n (F20): a metric on M, as a change of variables.

T^-1 M is a manifold of the same kind, phi_T(Y) = T^T phi(T Y), psi_T = psi. Its Euclidean metric is
the metric W = (T T^T)^-1 on M. `as_substitution` takes what a user may pass as T, `metric` what a
user may pass as W.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from genorth.errors import refuse, require
from genorth.linalg.arrays import Array, all_finite, ct, inner, norm
from genorth.linalg.inertia import Inertia, is_skew, unpivoted
from genorth.linalg.inputs import as_array, as_operator, check_returned, require_positive
from genorth.linalg.operators import (
    Dense,
    Diagonal,
    Identity,
    Operator,
    Sparse,
    SymplecticUnit,
    scipy_product,
)

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_Map = Callable[[Array], Array]
_Matrix = np.ndarray[Any, Any]


@attrs.frozen(eq=False)
class Substitution:
    """X = T Y, by the four products that the library needs.

    Each takes an array (n, p) or, on a manifold of blocks, (l, n, p).
    """

    #: Y -> T Y.
    apply: _Map
    #: V -> T^T V.
    adjoint: _Map
    #: X -> T^-1 X.
    solve: _Map
    #: V -> T^-T V.
    solve_adjoint: _Map
    #: T, where it is dense, diagonal or the identity.
    matrix: Operator | None = None
    #: A and T^T A T, where the latter is known without rounding.
    known: tuple[Operator, Operator] | None = None


def _unchanged(X: Array) -> Array:
    return X


#: X = Y.
SAME = Substitution(_unchanged, _unchanged, _unchanged, _unchanged)

# ---------------------------------------------------------------------- the manifold in Y


@attrs.frozen(eq=False)
class Congruence(Operator):
    """T^T A T, by products."""

    A: Operator
    T: Substitution
    name: str = "T^T A T"

    size = property(attrgetter("A.size"), doc="The size of A.")
    dtype = property(attrgetter("A.dtype"), doc="That of A.")

    def left(self, X: Array) -> Array:
        """T^T A T X."""
        return self.T.adjoint(self.A.left(self.T.apply(X)))

    def inertia(self) -> Inertia:
        """That of A, by Sylvester's law; the margin is not known."""
        known = self.A.inertia()
        return Inertia(known.positive, known.negative)


def congruent(A: Operator, T: Substitution) -> Operator:
    """T^T A T, formed where A and T are dense or diagonal."""
    if T.known is not None and T.known[0] is A:
        return T.known[1]
    M = T.matrix
    if isinstance(M, Identity):
        return A
    if isinstance(M, Diagonal) and isinstance(A, Diagonal | Identity):
        weights = 1.0 if isinstance(A, Identity) else np.asarray(A.M)
        return Diagonal((np.abs(np.asarray(M.M)) ** 2 * weights).real, name=A.name)
    formed = Dense | Diagonal | Identity | SymplecticUnit
    if M is None or not isinstance(A, formed) or not (isinstance(M, Dense) or isinstance(A, Dense)):
        return Congruence(A, T)
    matrix = M.matrix()
    product = ct(matrix) @ np.asarray(A.left(matrix))
    # symmetric or skew to the last digit, as A is
    sign = -1 if is_skew(product) else 1
    return Dense((product + sign * ct(product)) / 2, name=A.name)


@attrs.frozen(eq=False, slots=False, repr=False)
class SubstitutedMaps:
    """phi_T(Y) = T^T phi(T Y), psi_T = psi, and what else is known of T^-1 M."""

    #: The manifold M.
    base: GenOrthManifold
    #: X = T Y.
    T: Substitution

    @property
    def name(self) -> str:
        """Shown by `repr`."""
        return f"{getattr(self.base, 'name', type(self.base).__name__)}, X = TY"

    shape = property(attrgetter("base.shape"), doc="That of a point X.")
    dtype = property(attrgetter("base.dtype"), doc="That of X.")
    companion = property(attrgetter("base.companion"), doc="That of M.")
    definite = property(attrgetter("base.definite"), doc="As M is.")
    ambient_projector = property(attrgetter("base.ambient_projector"), doc="That of M, as T F = F.")

    @cached_property
    def form(self) -> Operator | None:
        """T^T A T."""
        return None if self.base.form is None else congruent(self.base.form, self.T)

    @cached_property
    def isometric(self) -> bool:
        """True where T^T A T = I and psi = id: T^-1 M is a Stiefel manifold."""
        companion = self.companion
        return isinstance(self.form, Identity) and companion is not None and companion.trivial

    def phi(self, X: Array) -> Array:
        """T^T phi(T X)."""
        form, companion = self.form, self.companion
        if form is None or companion is None or isinstance(form, Congruence):
            base = self.base
            return base.ambient(self.T.adjoint(base.phi(self.T.apply(X))))
        return companion.Qinv.right(form.left(X))

    def psi(self, T: Array) -> Array:
        """That of M."""
        return self.base.psi(T)

    def dimensions(self) -> tuple[int, int, int]:
        """Those of M."""
        return self.base.dimensions()


# ---------------------------------------------------------------------- what a user passes as T


def as_substitution(manifold: GenOrthManifold, T: Any) -> Substitution:
    """T as a `Substitution` that fits the manifold.

    Args:
        manifold: The manifold of X.
        T: A dense n x n matrix, a diagonal (1-D), a SciPy sparse matrix, a tuple (T, T inverse) of
            matrices or LinearOperators, a tuple of two functions (T and its inverse, T symmetric)
            or of four (T, T^T, T^-1, T^-T), or a `Substitution`.

    Returns:
        The substitution.

    Raises:
        ValueError: If T is singular, has no inverse, has the wrong size, or does not map F to F.
    """
    found = T if isinstance(T, Substitution) else _read(T, manifold.shape[-2])
    _require_consistent(manifold, found)
    return found


def _read(T: Any, n: int) -> Substitution:
    if isinstance(T, tuple) and any(callable(part) or len(np.shape(part)) == 2 for part in T):
        return _from_parts(T, n)
    require(
        not isinstance(T, scipy.sparse.linalg.LinearOperator) and not callable(T),
        "T",
        "T and its inverse",
        f"a {type(T).__name__} alone",
        "Pass the pair (T, T inverse), or the four functions (T, T^T, T^-1, T^-T).",
    )
    if scipy.sparse.issparse(T):
        return _sparse(T, n)
    matrix, values = as_array(T, "T")
    require(
        values.ndim in (1, 2) and set(values.shape) == {n},
        "T",
        f"an {n} x {n} matrix, or a diagonal of {n} entries",
        f"shape {values.shape}",
    )
    condition, bound = np.inf, 1 / (n * float(np.finfo(values.dtype).eps))
    with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
        inverse = 1 / values if values.ndim == 1 else np.linalg.inv(values)
        condition = float(np.linalg.norm(values) * np.linalg.norm(inverse))
    got = f"condition number {condition:.3g}"
    require(condition < bound, "T", "an invertible matrix", got, tolerance=bound)
    kind = Diagonal if values.ndim == 1 else Dense
    return _of_operators(kind(matrix, name="T"), kind(inverse))


def _of_operators(T: Operator, inverse: Operator) -> Substitution:
    """From T and T^-1, both dense or both diagonal."""
    kind: Any = type(T)
    back, solve_back = (kind(np.asarray(part.M).conj().T) for part in (T, inverse))
    return Substitution(T.left, back.left, inverse.left, solve_back.left, T)


def _from_parts(parts: tuple[Any, ...], n: int) -> Substitution:
    require(
        len(parts) in (2, 4),
        "T",
        "a pair (T, T inverse), or four functions",
        f"a tuple of {len(parts)}",
    )
    matrices = [not callable(part) or hasattr(part, "shape") for part in parts]
    if all(matrices) and len(parts) == 2:
        (apply, adjoint), (solve, solve_adjoint) = (_products(part, n) for part in parts)
        return Substitution(apply, adjoint, solve, solve_adjoint)
    require(
        not any(matrices), "T", "two matrices, or two or four functions", "a tuple of both kinds"
    )
    if len(parts) == 2:
        return Substitution(parts[0], parts[0], parts[1], parts[1])
    return Substitution(*parts)


def _products(M: Any, n: int) -> tuple[_Map, _Map]:
    """The products with a matrix or a LinearOperator and with its transpose."""
    require(tuple(M.shape) == (n, n), "T", f"an {n} x {n} matrix", f"shape {tuple(M.shape)}")
    if scipy.sparse.issparse(M) or isinstance(M, scipy.sparse.linalg.LinearOperator):
        operator = scipy.sparse.linalg.aslinearoperator(M)
        return _columnwise(operator.matmat), _columnwise(operator.rmatmat)
    matrix, values = as_array(M, "T")
    return Dense(matrix).left, Dense(ct(values)).left


def _columnwise(product: Callable[[_Matrix], _Matrix]) -> _Map:
    """A product of SciPy's, for blocks too."""
    return partial(scipy_product, product, name="T")


def _sparse(T: Any, n: int) -> Substitution:
    require(tuple(T.shape) == (n, n), "T", f"an {n} x {n} matrix", f"shape {tuple(T.shape)}")
    T = scipy.sparse.csc_array(T)
    T = T.astype(complex if T.dtype.kind == "c" else float)
    try:
        lu = scipy.sparse.linalg.splu(T)
    except RuntimeError:
        refuse("T", "an invertible matrix", "a zero pivot")
    apply, adjoint = _products(T, n)
    solve, solve_adjoint = (_columnwise(partial(_solved, lu, trans=t)) for t in "NH")
    return Substitution(apply, adjoint, solve, solve_adjoint)


def _solved(lu: Any, X: _Matrix, trans: str) -> _Matrix:
    """lu.solve, which takes right-hand sides of its own type only."""
    if X.dtype.kind == "c" and lu.L.dtype.kind != "c":
        return _solved(lu, X.real, trans) + 1j * _solved(lu, X.imag, trans)
    return np.asarray(lu.solve(np.ascontiguousarray(X, lu.L.dtype), trans))


def _require_consistent(manifold: GenOrthManifold, T: Substitution) -> None:
    """Refuse maps that are not T, T^T, T^-1 and T^-T of one T with T F = F, on random arrays."""
    rng = np.random.default_rng(0)
    U, V = manifold.random_ambient(rng), manifold.random_ambient(rng)
    n, unit = manifold.shape[-2], float(np.finfo(U.dtype).eps)
    TU = _image("T", T.apply, U)
    defect, bound = float(norm(_image("T^-1", T.solve, TU) - U) / norm(U)), unit**0.4
    require(
        defect <= bound, "T", "T^-1 T Y = Y, for a random Y with |Y| = 1", defect, tolerance=bound
    )
    # what a random array shows of the condition number of T, which rounding in T^-1 grows with
    growth = float(norm(TU) * norm(T.solve(U)) / norm(U) ** 2)
    for name, there, back in (("T", T.apply, T.adjoint), ("T^-1", T.solve, T.solve_adjoint)):
        image, other = _image(name, there, U), _image(f"({name})^T", back, V)
        size = float(norm(image) * norm(V) + norm(U) * norm(other))
        defect = abs(float(inner(image, V)) - float(inner(U, other))) / size
        bound = min(1e3 * n * unit * max(1.0, growth if name != "T" else 1.0), unit**0.4)
        require(
            defect <= bound,
            "T",
            f"<{name} U, V> = <U, ({name})^T V>, relative, for random U and V",
            defect,
            "A pair of functions is taken for a symmetric T: pass four otherwise.",
            tolerance=bound,
        )
    outside = float(norm(manifold.ambient(TU) - TU) / norm(TU))
    require(
        outside <= 1e3 * n * unit,
        "T",
        "T F = F, relative distance of T Y from F",
        outside,
        tolerance=1e3 * n * unit,
    )


def _image(name: str, product: _Map, U: _Matrix) -> _Matrix:
    """A product, of the shape and kind of U and finite."""
    try:
        image = np.asarray(product(U))
    except ValueError as error:
        refuse("T", f"{name} Y for an array of shape {U.shape}", f"an error: {error}")
    check_returned("T", image, U.shape, U.dtype.kind == "f")
    require(all_finite(image), "T", f"{name} Y finite", "NaN or infinity")
    return image


# ---------------------------------------------------------------------- what a user passes as W


def metric(manifold: GenOrthManifold, W: Any) -> Substitution:
    """T with W = (T T^T)^-1: in Y, X = T Y, the metric W is the Euclidean one.

    Args:
        manifold: The manifold of X.
        W: Symmetric positive definite: a dense matrix, a diagonal (1-D), a SciPy sparse matrix; a
            tuple (T, T inverse) as in `as_substitution`; or a name. The names are that of a
            definite form ("B") and, where it is dense or diagonal, the modulus of any form ("|A|",
            "|H|").

    Returns:
        The substitution.

    Raises:
        ValueError: If W is not symmetric, not positive definite, singular to rounding, or has the
            wrong size, or if the name is unknown.
    """
    if isinstance(W, str):
        return _by_name(manifold, W)
    if isinstance(W, tuple | Substitution):
        return as_substitution(manifold, W)
    require(
        not isinstance(W, scipy.sparse.linalg.LinearOperator) and not callable(W),
        "W",
        "a matrix that can be factorised, or a pair (T, T inverse) with W = (T T^T)^-1",
        f"a {type(W).__name__}",
    )
    op, n = as_operator(W, "W", 1), manifold.shape[-2]
    require(op.size == n, "W", f"size n = {n}", op.size, tolerance=0)
    require(
        op.dtype.kind != "c" or manifold.dtype.kind != "f",
        "W",
        "real entries (the manifold is real)",
        f"dtype {op.dtype}",
    )
    require_positive(op)
    form = manifold.form
    same = form is not None and manifold.definite and _equal(op, form)
    return _factorised(form if same and form is not None else op, same)


def metric_names(manifold: GenOrthManifold) -> list[str]:
    """The names that `metric` knows on a manifold."""
    form = manifold.form
    if form is None:
        return []
    names = [form.name] if manifold.definite and not isinstance(form, Identity) else []
    if isinstance(form, Dense | Diagonal | Identity | SymplecticUnit):
        names += sorted({"|A|", f"|{form.name}|"})
    return names


def _by_name(manifold: GenOrthManifold, name: str) -> Substitution:
    form, names = manifold.form, metric_names(manifold)
    if form is None or name not in names:
        known = f"one of {', '.join(map(repr, names))}" if names else "a matrix (no name is known)"
        refuse("metric", f"{known}, on {manifold!r}", repr(name), None, "Pass W itself.")
    return _factorised(form, True) if manifold.definite else _modulus(form)


def _modulus(A: Operator) -> Substitution:
    """T = |A|^(-1/2), and the sign of A; A symmetric, or real and skew: then iA is Hermitian."""
    if isinstance(A, SymplecticUnit):
        return _factorised(Identity(A.size, A.dtype), False)
    if isinstance(A, Diagonal):
        d = np.asarray(A.M)
        T = _factorised(Diagonal(np.abs(d)), False)
        return attrs.evolve(T, known=(A, Diagonal(np.sign(d), name=A.name)))
    M = A.matrix()
    skew = is_skew(M)
    values, V = np.linalg.eigh(1j * M if skew else M)

    def function(f: _Matrix) -> Dense:
        F = (V * f) @ ct(V)
        return Dense(F.real if M.dtype.kind == "f" else F)

    sizes = np.abs(values)
    T = _of_operators(function(sizes**-0.5), function(sizes**0.5))
    sign = function(-1j * np.sign(values) if skew else np.sign(values))
    return attrs.evolve(T, known=(A, Dense(sign.M, name=A.name)))


def _equal(W: Operator, B: Operator) -> bool:
    """The same matrix, entry by entry."""
    return type(W) is type(B) and bool(abs(W.M - B.M).sum() == 0)


def _factorised(W: Operator, form: bool) -> Substitution:
    """T with T T^T = W^-1; `form` says that W is the form of the manifold, so that T^T W T = I."""
    unit = Identity(W.size, W.dtype)
    if isinstance(W, Identity):
        T = attrs.evolve(SAME, matrix=unit)
    elif isinstance(W, Diagonal):
        root = np.sqrt(np.asarray(W.M).real)
        T = _of_operators(Diagonal(1 / root), Diagonal(root))
    elif isinstance(W, Dense):
        upper = ct(np.linalg.cholesky(np.asarray(W.M)))  # W = R^T R, T = R^-1
        T = _of_operators(Dense(np.linalg.inv(upper)), Dense(upper))
    elif isinstance(W, Sparse):
        T = _sparse_factor(W)
    else:
        refuse(
            W.name,
            "a matrix that can be factorised",
            "a LinearOperator",
            None,
            "Pass the metric as a pair (T, T inverse) with W = (T T^T)^-1.",
        )
    return attrs.evolve(T, known=(W, unit)) if form else T


def _sparse_factor(W: Sparse) -> Substitution:
    """P W P^T = L D L^T by an LU factorisation that keeps the diagonal; T = P^T L^-T D^(-1/2)."""
    lu = unpivoted(scipy.sparse.csc_array(W.M))
    if lu is None or not (pivots := lu.U.diagonal().real).min() > 0:
        refuse(W.name, f"{W.name} positive definite", "a zero or negative pivot", 0)
    order, back, root = lu.perm_r, np.argsort(lu.perm_r), np.sqrt(pivots)[:, None]
    lower = scipy.sparse.csc_array(lu.L)
    natural = scipy.sparse.linalg.splu(lower, permc_spec="NATURAL", diag_pivot_thresh=0.0)
    upper = scipy.sparse.csr_array(lower.conj().T)
    return Substitution(
        _columnwise(lambda Y: _solved(natural, Y / root, "H")[order]),
        _columnwise(lambda V: _solved(natural, V[back], "N") / root),
        _columnwise(lambda X: root * (upper @ X[back])),
        _columnwise(lambda V: (lower @ (root * V))[order]),
    )
