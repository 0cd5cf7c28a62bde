"""Bad input: what is refused, and what the message names.

It names the argument, the formula, the value and the tolerance.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import genorth as go
from genorth.testing.strategies import conditioned_skew, conditioned_symmetric
from support.refusals import refused

SPD = conditioned_symmetric(6, 10.0, 0)
INDEFINITE = conditioned_symmetric(6, 10.0, 0, negative=3)
SKEW = conditioned_skew(6, 10.0, 0)
SIGNS = np.array([1.0, 1.0, -1.0])
operator = scipy.sparse.linalg.aslinearoperator
sparse = scipy.sparse.csr_array
KINDS: dict[str, Callable[[Any], Any]] = {
    "dense": np.asarray,
    "sparse": sparse,
    "operator": operator,
}

#: Each argument that is an n x n matrix, and a manifold made from it.
MATRICES: dict[str, Callable[[Any], Any]] = {
    "B": lambda B: go.GeneralizedStiefel(B, 2),
    "H": lambda H: go.HyperbolicStiefel(H, 2),
    "A": lambda A: go.IndefiniteStiefel(A, SIGNS),
}
#: Each argument that is a p x p matrix.
SMALL: dict[str, Callable[[Any], Any]] = {
    "J": lambda J: go.IndefiniteStiefel(INDEFINITE, J),
    "R": lambda R: go.BilinearStiefel(INDEFINITE, R),
    "companion": lambda Q: go.from_maps((6, 2), lambda X: X, lambda T: T, companion=Q),
}
ALL = MATRICES | SMALL


NAN = np.diag([1.0, np.nan, np.inf, 1, 1, 1])
SQUARE = "a square matrix (n, n), or a diagonal as a 1-D array"
#: A matrix that no argument takes, the condition, and what is shown of it.
NO_MATRIX: dict[str, tuple[Any, str, str]] = {
    **{kind: (make(np.ones((4, 6))), SQUARE, "shape (4, 6)") for kind, make in KINDS.items()},
    "scalar": (np.ones(()), SQUARE, "shape ()"),
    "blocks": (np.ones((2, 2, 2)), SQUARE, "shape (2, 2, 2)"),
    "empty diagonal": (np.ones(0), "at least one entry", "shape (0,)"),
    "empty": (np.ones((0, 0)), "at least one entry", "shape (0, 0)"),
    "text": ([["a", "b"], ["c", "d"]], "real or complex numbers", "dtype"),
    "nothing": ([[None, None], [None, None]], "real or complex numbers", "dtype"),
    "word": ("identity", "real or complex numbers", "dtype"),
    "ragged": ([[1.0, 2.0], [1.0]], "rows of equal length", "different lengths"),
    "NaN": (NAN, "finite entries", "2 of 36"),
    "NaN on the diagonal": (np.diag(NAN), "finite entries", "2 of 6"),
    "NaN in a sparse one": (sparse(NAN), "finite entries", "2 of "),
    "imaginary": (np.array([1.0, 2.0, 1 + 0.5j]), "^T = ", "imaginary part 0.5 on the diagonal"),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("case", NO_MATRIX)
def test_what_no_argument_takes(name, case):
    M, need, got = NO_MATRIX[case]
    with refused(name, need, got, tolerance=case.startswith(("NaN", "imaginary"))):
        ALL[name](M)


@pytest.mark.parametrize("name", MATRICES)
def test_operator_with_nan(name):
    with refused(
        f"{name} u for a random vector u", "finite entries", "12 of 12 entries NaN or infinite"
    ):
        MATRICES[name](
            scipy.sparse.linalg.LinearOperator((6, 6), matvec=lambda v: np.nan * v, dtype=float)
        )


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("entry", [1e-6, 1e-6j])
def test_matrix_that_is_not_symmetric(name, kind, entry):
    """Complex: Hermitian is asked for."""
    M = np.eye(6) + 0 * entry
    M[0, 1] = entry
    with refused(name, f"{name}^T = {name}", f"|{name} - {name}^T| = 1.41e-06"):
        MATRICES[name](KINDS[kind](M))


@pytest.mark.parametrize("name", MATRICES)
def test_operator_that_is_not_symmetric(name):
    M = np.eye(6)
    M[0, 1] = 1e-6
    with refused(name, f"<u, {name} v> = <{name} u, v>", "e-06 for random u and v"):
        MATRICES[name](operator(M))


@pytest.mark.parametrize(
    "J", [np.array([1.0, 2.0]), np.array([[1.0, 0.5], [0.5, -1.0]]), sparse(np.diag([1.0, 2.0]))]
)
def test_j_not_an_involution(J):
    with refused("J", "J^2 = I", "|J^2 - I| = "):
        go.IndefiniteStiefel(INDEFINITE, J)


@pytest.mark.parametrize("kind", ["dense", "diagonal", "sparse"])
@pytest.mark.parametrize("B", [INDEFINITE, np.eye(6, k=1) + np.eye(6, k=-1)])
def test_b_not_positive_definite(kind, B):
    B = np.linalg.eigvalsh(B) if kind == "diagonal" else KINDS[kind](B)
    with refused("B", "B positive definite", "3 of 6 eigenvalues negative"):
        go.GeneralizedStiefel(B, 2)


@pytest.mark.parametrize("n", [6, 3000])
def test_operator_b_not_positive_definite(n):
    """A LinearOperator is looked at when the first point is drawn.

    A negative quotient is a proof.
    """
    d = np.linspace(0.1, 1, n)
    d[n // 2] = -0.2
    M = go.GeneralizedStiefel(operator(scipy.sparse.diags_array(d)), 2)
    M.phi(np.ones((n, 2)))
    for _ in range(2):
        with refused("B", "B positive definite", "v^T B v = -0."):
            M.random_point(0)


def singular(n: int, exact: bool) -> np.ndarray:
    """Symmetric of rank n - 1: with a zero row, or rotated."""
    values = np.r_[np.linspace(1, 2, n - 1) * np.where(np.arange(n - 1) % 3, 1, -1), 0]
    U = np.eye(n) if exact else np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]
    M = (U * values) @ U.T
    return (M + M.T) / 2


@pytest.mark.parametrize("n", [6, 7, 40, 201])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("exact", [True, False])
def test_singular(n, kind, exact):
    M = KINDS[kind](singular(n, exact))
    for name in ("A", "H"):
        with refused(name, f"{name} nonsingular", "smallest / largest |eigenvalue| about "):
            MATRICES[name](M)
    with refused("B", "B nonsingular", "smallest / largest |eigenvalue| about "):
        go.GeneralizedStiefel(KINDS[kind](singular(n, exact) @ singular(n, exact)), 2)


def test_singular_sparse_laplacian():
    """Singular by its zero row sums, which rounding hides from the factorisation."""
    n = 500
    L = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    L[0, 0] = L[n - 1, n - 1] = 1.0
    with refused("B", "B nonsingular", "smallest / largest |eigenvalue| about "):
        go.GeneralizedStiefel(L, 2)


@pytest.mark.parametrize(
    "R", [np.array([1.0, 0.0]), np.ones((2, 2)), np.zeros((2, 2)), SKEW[:3, :3]]
)
def test_singular_r(R):
    with refused("R", "R nonsingular", "smallest / largest |eigenvalue| about "):
        go.BilinearStiefel(SKEW if R.shape == (3, 3) else INDEFINITE, R)


@pytest.mark.parametrize("n", [3, 5, 41])
@pytest.mark.parametrize("kind", KINDS)
def test_skew_matrix_of_odd_size(n, kind):
    A = conditioned_skew(n + 1, 1.0, 0)[:n, :n]
    with refused("A", "n even, as a skew matrix of odd size is singular", f"n = {n}"):
        go.BilinearStiefel(KINDS[kind](A), np.array([[0.0, 1.0], [-1.0, 0.0]]))


_BILINEAR = conditioned_symmetric(3, 2.0, 0, negative=2)
#: A form, a manifold that needs more directions than it has, the argument, how many positive and
#: negative ones the manifold needs, and what there is.
EMPTY: dict[str, tuple[np.ndarray, Callable[[Any], Any], str, tuple[int, int], str]] = {
    "hyperbolic": (-SPD, MATRICES["H"], "H", (2, 0), "0 positive and 6 negative"),
    "hyperbolic-just": (
        conditioned_symmetric(6, 10.0, 0, negative=5),
        MATRICES["H"],
        "H",
        (2, 0),
        "1 positive and 5 negative",
    ),
    "indefinite": (SPD, MATRICES["A"], "A", (2, 1), "6 positive and 0 negative"),
    "indefinite-just": (
        conditioned_symmetric(6, 10.0, 0, negative=1),
        lambda A: go.IndefiniteStiefel(A, -SIGNS),
        "A",
        (1, 2),
        "5 positive and 1 negative",
    ),
    "bilinear": (
        -SPD,
        lambda A: go.BilinearStiefel(A, _BILINEAR),
        "A",
        (1, 2),
        "0 positive and 6 negative",
    ),
    "large": (np.diag(np.linspace(0.5, 1, 300)), MATRICES["A"], "A", (2, 1), "0 negative"),
}
RIGHT = {"hyperbolic": "I_2", "indefinite": "J", "bilinear": "R", "large": "J"}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("kind", ["dense", "sparse", "complex", "diagonal", "operator"])
def test_empty_manifold_is_not_made_or_has_no_point(name, kind):
    """Products show only those directions that were looked for; then the message says so."""
    A, make, argument, (positive, negative), measured = EMPTY[name]
    needed = f"at least {positive} positive and {negative} negative eigenvalues, as many as "
    needed += f"{RIGHT[name.removesuffix('-just')]} has"
    if kind == "operator":
        manifold = make(operator(A))
        with refused(argument, needed, " positive and ", error=go.EmptyManifoldError):
            manifold.random_point(0)
        with pytest.raises(go.EmptyManifoldError, match="as far as products show"):
            manifold.random_point(0)
        return
    others = {"complex": lambda A: A + 0j, "diagonal": np.linalg.eigvalsh}
    with refused(argument, needed, measured, error=go.EmptyManifoldError):
        make((KINDS | others)[kind](A))


def test_empty_manifold_of_two_functions_has_no_point():
    with refused(
        "phi", "at least 2 positive and 0 negative", "0 positive", error=go.EmptyManifoldError
    ):
        go.from_maps((6, 2), lambda X: -X, lambda T: T).random_point(0)
    with pytest.raises(go.EmptyManifoldError, match=r"no X with X\^T phi\(X\) = I was found"):
        go.from_maps((6, 2), lambda X: -X, lambda T: T, definite=True).random_point(0)
    with pytest.raises(go.EmptyManifoldError, match=r"no X with X\^T phi\(X\) = I was found"):
        go.from_maps((6, 2), lambda X: -X, lambda T: T, ambient=lambda Y: Y).random_point(0)


def test_skew_operator_of_small_rank_has_no_point():
    A = np.zeros((8, 8))
    A[:2, :2] = [[0, 1], [-1, 0]]
    M = go.BilinearStiefel(operator(A), SKEW[:4, :4])
    with refused("A", "rank at least 4, that of R", "rank 2", error=go.EmptyManifoldError):
        M.random_point(0)


SIZES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Stiefel-n": ("n", lambda k: go.Stiefel(k, 1)),
    "Stiefel-p": ("p", lambda k: go.Stiefel(6, k)),
    "GeneralizedStiefel": ("p", lambda k: go.GeneralizedStiefel(SPD, k)),
    "HyperbolicStiefel": ("p", lambda k: go.HyperbolicStiefel(SPD, k)),
    "SymplecticStiefel-n": ("n", lambda k: go.SymplecticStiefel(k, 2)),
    "SymplecticStiefel-p": ("p", lambda k: go.SymplecticStiefel(6, k)),
    "TensorStiefel-n": ("n", lambda k: go.TensorStiefel(k, 1, 2)),
    "TensorStiefel-p": ("p", lambda k: go.TensorStiefel(6, k, 2)),
    "TensorStiefel-l": ("l", lambda k: go.TensorStiefel(6, 2, k)),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("size", [0, -1, 2.0, 2.5, "2", None, True])
def test_size_that_is_not_a_positive_integer(name, size):
    argument, make = SIZES[name]
    with refused(argument, "a positive integer", repr(size), tolerance=False):
        make(size)


@pytest.mark.parametrize("name", [name for name, (argument, _) in SIZES.items() if argument == "p"])
def test_p_larger_than_n(name):
    with refused("p", "p <= n = 6", "8"):
        SIZES[name][1](8)


@pytest.mark.parametrize("shape", [(3,), (2, 3, 2, 2), (3, 0), (3.0, 2), 5, "ab", None])
def test_shape_of_from_maps(shape):
    with refused("shape", "(n, p) or (l, n, p), positive integers", repr(shape), tolerance=False):
        go.from_maps(shape, lambda X: X, lambda T: T)


@pytest.mark.parametrize("dtype", [int, bool, np.float16, np.longdouble, object])
def test_dtype_of_points(dtype):
    formula = "float32, float64, complex64 or complex128"
    with refused("dtype", formula, str(np.dtype(dtype)), tolerance=False):
        go.Stiefel(3, 2, dtype=dtype)
    with refused("dtype", formula, str(np.dtype(dtype)), tolerance=False):
        go.from_maps((3, 2), lambda X: X, lambda T: T, dtype=dtype)


def test_maps_that_are_no_maps():
    for argument in ("phi", "psi", "ambient"):
        maps: dict[str, Any] = {"phi": np.asarray, "psi": np.asarray, argument: np.eye(6)}
        with refused(argument, "a function of one array", "a ndarray", tolerance=False):
            go.from_maps((6, 2), **maps)
    M = go.from_maps((6, 2), lambda X: X.T, lambda T: T)
    with refused("phi", "an array of shape (6, 2)", "shape (2, 6)", tolerance=False):
        M.constraint(np.ones((6, 2)))
    M = go.from_maps((6, 2), lambda X: X, lambda T: T[0])
    with refused("psi", "an array of shape (2, 2)", "shape (2,)", tolerance=False):
        M.constraint_differential(np.ones((6, 2)), np.ones((6, 2)))


TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])
SYMMETRIC = ("A", "A^T = -A, as R is skew", "|A + A^T| = ", True)
NOT_SYMMETRIC = ("A", "A^T = A, as R is symmetric", "|A - A^T| = ", True)
FLAT = "smallest / largest |eigenvalue| about "
TENSORS = go.TensorStiefel(3, 2, 4, "dft")
#: A call, then the argument, the condition, the value, and whether a tolerance is shown.
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[str, str, str, bool]]] = [
    (SMALL["R"], (np.triu(np.ones((2, 2))),), ("R", "R^T = R or R^T = -R", "|R - R^T| = ", True)),
    (SMALL["companion"], (np.triu(np.ones((2, 2))),), ("companion", " or ", "= 1.41", True)),
    (SMALL["J"], (TURN,), ("J", "J^T = J", "|J - J^T| = 2.83", True)),
    (go.BilinearStiefel, (INDEFINITE, SKEW[:2, :2]), SYMMETRIC),
    (go.BilinearStiefel, (sparse(INDEFINITE), SKEW[:2, :2]), SYMMETRIC),
    (go.BilinearStiefel, (SKEW, SIGNS), NOT_SYMMETRIC),
    (go.BilinearStiefel, (sparse(SKEW), SIGNS), NOT_SYMMETRIC),
    (
        go.BilinearStiefel,
        (np.ones(6), TURN),
        ("A", "A^T = -A, as R is skew", "a diagonal (1-D array), which is symmetric", False),
    ),
    (
        go.BilinearStiefel,
        (operator(INDEFINITE), TURN),
        ("A", "<u, A v> = -<A u, v>", "for random u and v", True),
    ),
    (
        go.BilinearStiefel,
        (operator(SKEW), SIGNS),
        ("A", "<u, A v> = <A u, v>", "for random u and v", True),
    ),
    # i times a skew-Hermitian matrix is Hermitian: there is nothing else to offer
    (
        go.BilinearStiefel,
        (1j * SPD, 1j * np.eye(2)),
        ("R", "R Hermitian where entries are complex", "skew-Hermitian", False),
    ),
    (go.BilinearStiefel, (SKEW + 0j, TURN), ("A", "real entries, as R is skew", "128", False)),
    (go.BilinearStiefel, (np.kron(np.diag([1.0, 1, 0]), TURN), TURN), ("A", "A non", FLAT, True)),
    (
        go.BilinearStiefel,
        (sparse(np.kron(np.diag([1.0, 1, 0]), TURN)), TURN),
        ("A", "A nonsingular", FLAT, True),
    ),
    *(
        (make, (np.array([1.0, 2, 0, 3]),), (name, f"{name} nonsingular", f"{FLAT}0,", True))
        for name, make in MATRICES.items()
    ),
    (go.IndefiniteStiefel, (INDEFINITE, np.ones(7)), ("J", "size p <= n = 6", "7", True)),
    (go.BilinearStiefel, (SKEW, conditioned_skew(8, 1.0, 0)), ("R", "size p <= n = 6", "8", True)),
    (go.from_maps, ((2, 3), np.asarray, np.asarray), ("shape", "p <= n", "(n, p) = (2, 3)", True)),
    (SMALL["companion"], (np.eye(3),), ("companion", "size p = 2", "3", True)),
    (go.SymplecticStiefel, (5, 2), ("n", "n even, as J_n = [[0, I], [-I, 0]]", "5", True)),
    (go.SymplecticStiefel, (6, 3), ("p", "p even, as J_p = [[0, I], [-I, 0]]", "3", True)),
    (go.TensorStiefel, (3, 2, 2, "fft"), ("transform", "'dct', 'dft' or an", "'fft'", False)),
    (go.TensorStiefel, (3, 2, 2, np.eye(3)), ("transform", "2 x 2", "shape (3, 3)", False)),
    (go.TensorStiefel, (3, 2, 2, NAN[:2, :2]), ("transform", "finite entries", "1 of 4", True)),
    (go.TensorStiefel, (3, 2, 2, np.ones((2, 2))), ("transform", "2 x 2", "condition", True)),
    (go.TensorStiefel, (3, 2, 2, ["a", "b"]), ("transform", "complex numbers", "dtype", False)),
    (TENSORS.from_tensor, (np.ones((4, 3, 2)),), ("tensor", "(n, p, 4)", "(4, 3, 2)", False)),
    (TENSORS.to_tensor, (np.ones((3, 2, 4)),), ("X", "(4, n, p)", "(3, 2, 4)", False)),
    (TENSORS.from_tensor, (np.ones((3, 2, 4)) + 0j,), ("tensor", "real", "complex128", False)),
]


@pytest.mark.parametrize(("call", "arguments", "message"), CALLS)
def test_what_one_call_does_not_take(call, arguments, message):
    with refused(*message):
        call(*arguments)
