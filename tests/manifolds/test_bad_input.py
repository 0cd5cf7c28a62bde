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


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", KINDS)
def test_matrix_that_is_not_square(name, kind):
    with refused(
        name,
        "a square matrix (n, n), or a diagonal as a 1-D array",
        "shape (4, 6)",
        tolerance=False,
    ):
        ALL[name](KINDS[kind](np.ones((4, 6))))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(), (2, 2, 2)])
def test_matrix_of_other_dimension(name, shape):
    with refused(name, "a square matrix (n, n)", f"shape {shape}", tolerance=False):
        ALL[name](np.ones(shape))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(0,), (0, 0)])
def test_empty_matrix(name, shape):
    with refused(name, "at least one entry", f"shape {shape}", tolerance=False):
        ALL[name](np.ones(shape))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "values", [[["a", "b"], ["c", "d"]], [[None, None], [None, None]], None, "identity"]
)
def test_matrix_that_holds_no_numbers(name, values):
    if name == "companion" and values is None:
        values = [None]
    with refused(name, "real or complex numbers", "dtype", tolerance=False):
        ALL[name](values)


@pytest.mark.parametrize("name", ALL)
def test_ragged_matrix(name):
    with refused(name, "rows of equal length", "different lengths", tolerance=False):
        ALL[name]([[1.0, 2.0], [1.0]])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["dense", "diagonal", "sparse"])
def test_matrix_with_nan_or_infinity(name, bad, kind):
    M = np.eye(6)
    M[1, 1] = M[2, 2] = bad
    M = np.diag(M).copy() if kind == "diagonal" else KINDS[kind](M)
    with refused(name, "finite entries", "2 of "):
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


@pytest.mark.parametrize("name", ALL)
def test_complex_diagonal(name):
    with refused(name, f"{name}^T = {name}", "imaginary part 0.5 on the diagonal"):
        ALL[name](np.array([1.0, 2.0, 1 + 0.5j]))


@pytest.mark.parametrize("name", ["R", "companion"])
def test_small_matrix_neither_symmetric_nor_skew(name):
    with refused(name, f"{name}^T = {name} or {name}^T = -{name}", f"|{name} - {name}^T| = 1.41"):
        SMALL[name](np.array([[1.0, 1.0], [0.0, 1.0]]))


def test_j_not_symmetric():
    with refused("J", "J^T = J", "|J - J^T| = 2.83"):
        go.IndefiniteStiefel(INDEFINITE, np.array([[0.0, 1.0], [-1.0, 0.0]]))


@pytest.mark.parametrize(
    "J", [np.array([1.0, 2.0]), np.array([[1.0, 0.5], [0.5, -1.0]]), sparse(np.diag([1.0, 2.0]))]
)
def test_j_not_an_involution(J):
    with refused("J", "J^2 = I", "|J^2 - I| = "):
        go.IndefiniteStiefel(INDEFINITE, J)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_skew_and_symmetric_do_not_mix(kind):
    with refused("A", "A^T = -A, as R is skew", "|A + A^T| = "):
        go.BilinearStiefel(KINDS[kind](INDEFINITE), SKEW[:2, :2])
    with refused("A", "A^T = A, as R is symmetric", "|A - A^T| = "):
        go.BilinearStiefel(KINDS[kind](SKEW), SIGNS)


def test_skew_and_symmetric_do_not_mix_in_other_kinds():
    with refused(
        "A", "A^T = -A, as R is skew", "a diagonal (1-D array), which is symmetric", tolerance=False
    ):
        go.BilinearStiefel(np.ones(6), SKEW[:2, :2])
    with refused("A", "<u, A v> = -<A u, v>", "for random u and v"):
        go.BilinearStiefel(operator(INDEFINITE), SKEW[:2, :2])
    with refused("A", "<u, A v> = <A u, v>", "for random u and v"):
        go.BilinearStiefel(operator(SKEW), SIGNS)


def test_complex_skew_forms():
    """I times a skew-Hermitian matrix is Hermitian: there is nothing else to offer."""
    with refused("R", "R Hermitian where entries are complex", "skew-Hermitian", tolerance=False):
        go.BilinearStiefel(1j * SPD, 1j * np.eye(2))
    with refused("A", "real entries, as R is skew", "complex128", tolerance=False):
        go.BilinearStiefel(SKEW + 0j, np.array([[0.0, 1.0], [-1.0, 0.0]]))


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


@pytest.mark.parametrize("name", MATRICES)
def test_singular_diagonal(name):
    with refused(name, f"{name} nonsingular", "smallest / largest |eigenvalue| about 0,"):
        MATRICES[name](np.array([1.0, 2.0, 0.0, 3.0]))


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


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_singular_skew(kind):
    A = np.zeros((6, 6))
    A[:4, :4] = conditioned_skew(4, 1.0, 0)
    with refused("A", "A nonsingular", "smallest / largest |eigenvalue| about "):
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


def test_right_hand_side_larger_than_the_left():
    with refused("J", "size p <= n = 6, the size of A", "7"):
        go.IndefiniteStiefel(INDEFINITE, np.ones(7))
    with refused("R", "size p <= n = 6, the size of A", "8"):
        go.BilinearStiefel(SKEW, conditioned_skew(8, 1.0, 0))
    with refused("shape", "p <= n", "(n, p) = (2, 3)"):
        go.from_maps((2, 3), lambda X: X, lambda T: T)
    with refused("companion", "size p = 2", "3"):
        go.from_maps((6, 2), lambda X: X, lambda T: T, companion=np.eye(3))


@pytest.mark.parametrize(("n", "p", "argument"), [(5, 2, "n"), (6, 3, "p")])
def test_odd_sizes_on_the_symplectic_manifold(n, p, argument):
    with refused(
        argument,
        f"{argument} even, as J_{argument} = [[0, I], [-I, 0]]",
        str({"n": n, "p": p}[argument]),
    ):
        go.SymplecticStiefel(n, p)


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


def test_transforms():
    with refused("transform", "'dct', 'dft' or an invertible matrix", "'fft'", tolerance=False):
        go.TensorStiefel(3, 2, 2, "fft")
    with refused("transform", "an invertible 2 x 2 matrix", "shape (3, 3)", tolerance=False):
        go.TensorStiefel(3, 2, 2, np.eye(3))
    with refused("transform", "finite entries", "1 of 4 entries NaN or infinite"):
        go.TensorStiefel(3, 2, 2, np.array([[1.0, np.nan], [0.0, 1.0]]))
    with refused("transform", "an invertible 2 x 2 matrix", "condition number"):
        go.TensorStiefel(3, 2, 2, np.ones((2, 2)))
    with refused("transform", "real or complex numbers", "dtype", tolerance=False):
        go.TensorStiefel(3, 2, 2, [["a", "b"], ["c", "d"]])


def test_tensors():
    M = go.TensorStiefel(3, 2, 4, "dft")
    with refused("tensor", "shape (n, p, 4)", "shape (4, 3, 2)", tolerance=False):
        M.from_tensor(np.ones((4, 3, 2)))
    with refused("X", "shape (4, n, p)", "shape (3, 2, 4)", tolerance=False):
        M.to_tensor(np.ones((3, 2, 4)))
    with refused("tensor", "real entries", "complex128", tolerance=False):
        M.from_tensor(np.ones((3, 2, 4)) + 0j)
