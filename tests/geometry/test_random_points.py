"""Random points: on M for every admissible input, no longer than needed, and spread over M."""

from functools import cache

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth.geometry.sampling import Sampler
from genorth.linalg.operators import Dense
from genorth.testing.strategies import (
    Recipe,
    conditioned_skew,
    conditioned_symmetric,
    recipes,
    seeds,
)

KINDS = ("dense", "diagonal", "sparse", "operator")
CONDITIONS = st.floats(0, 8).map(lambda exponent: 10.0**exponent)


def assert_on(M: go.GenOrthManifold, X: np.ndarray) -> None:
    """|C(X)| <= 1e-12 max(1, |X| |phi(X)|): 4500 units of roundoff, in single precision too."""
    assert X.shape == M.shape and X.dtype == M.dtype
    assert M.feasibility(X) <= 4500 * np.finfo(X.dtype).eps * M.scale(X)


def matrix_of(kind: str, values: np.ndarray, seed: int) -> object:
    """A symmetric matrix with these eigenvalues.

    Rotated, or (sparse) rotated in disjoint planes.
    """
    n = values.size
    if kind == "dense":
        U = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
        return (U * values) @ U.T / 2 + (U @ (values[:, None] * U.T)) / 2
    if kind == "diagonal":
        return values
    if kind == "sparse":
        half = n // 2
        c, s = np.full(half, 0.6), np.full(half, 0.8)
        G = scipy.sparse.diags_array(
            [np.r_[c, np.ones(n - 2 * half), c], s, -s], offsets=[0, n - half, half - n]
        )
        S = scipy.sparse.csr_array(G @ scipy.sparse.diags_array(values) @ G.T)
        return (S + S.T) / 2
    products = {"matvec": lambda v: values * v.ravel(), "matmat": lambda V: values[:, None] * V}
    return scipy.sparse.linalg.LinearOperator((n, n), dtype=float, **products)


def signed_values(n: int, negative: int, condition: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return condition ** -rng.uniform(0, 1, n) * rng.permutation(
        np.where(np.arange(n) < negative, -1.0, 1.0)
    )


@given(recipe=recipes(max_n=12), seed=seeds())
def test_on_every_manifold(recipe, seed):
    """All families, square cases included, condition numbers up to 1e8."""
    M = recipe.build()
    assert_on(M, M.random_point(seed))


@given(
    kind=st.sampled_from(KINDS),
    plus=st.integers(0, 4),
    minus=st.integers(0, 4),
    condition=CONDITIONS,
    seed=seeds(),
    spare=st.sampled_from([0, 0, 1, 30, 80]),
    spare_sign=st.sampled_from([1, -1]),
)
def test_just_sufficient_signatures(kind, plus, minus, spare, spare_sign, condition, seed):
    """A has exactly as many directions of one sign as J has; spare = 0: of both (square)."""
    plus += plus + minus == 0
    negative = minus + (spare if spare_sign < 0 else 0)
    A = matrix_of(kind, signed_values(plus + minus + spare, negative, condition, seed), seed)
    M = go.IndefiniteStiefel(A, np.r_[np.ones(plus), -np.ones(minus)])
    assert_on(M, M.random_point(seed))


@given(
    family=st.sampled_from(["indefinite-dense", "bilinear-symmetric", "bilinear-skew"]),
    n=st.integers(1, 9),
    condition=st.floats(1, 1e4),
    seed=seeds(),
)
def test_a_block_is_drawn_on_M(family, n, condition, seed):
    """X^T A X = Q before anything is restored: restoring would hide a wrong root of Q."""
    M = Recipe(family, n, 1 + seed % n, condition, seed).build()
    [block] = Sampler(M).blocks
    assert_on(M, block.draw(np.random.default_rng(seed)))


@pytest.mark.parametrize("kind", ["diagonal", "sparse", "operator"])
@pytest.mark.parametrize("negative", [3, 40])
def test_few_negative_directions_in_a_large_space(kind, negative):
    n = 20_000
    values = np.random.default_rng(0).uniform(0.1, 1, n)
    values[7 : 7 + negative] *= -1
    M = go.IndefiniteStiefel(matrix_of(kind, values, 0), np.array([1.0, 1.0, -1.0, -1.0, -1.0]))
    assert_on(M, M.random_point(0))


@pytest.mark.parametrize("kind", ["dense", "diagonal", "sparse"])
def test_few_and_tiny_negative_directions(kind):
    """Three negative eigenvalues of 1e-4 to 1e-8 among positive ones up to one.

    No product shows them.
    """
    values = 10.0 ** -np.random.default_rng(0).uniform(0, 8, 600)
    values[[5, 320, 560]] = -1e-4, -1e-6, -1e-8
    M = go.IndefiniteStiefel(matrix_of(kind, values, 0), np.array([1.0, -1.0, -1.0, -1.0]))
    assert_on(M, M.random_point(0))


@pytest.mark.parametrize("sign", [1, -1])
def test_directions_that_lapack_loses(sign, monkeypatch):
    """With Haswell kernels dsyevr returned none of the two largest of 1, -1, ..., -1."""
    A, eigh = conditioned_symmetric(9, 1.0, 0, negative=8 if sign > 0 else 1), scipy.linalg.eigh
    lossy = lambda M, subset_by_index=None: (  # noqa: E731
        eigh(M) if subset_by_index is None else (np.empty(0), np.empty((9, 0)))
    )
    monkeypatch.setattr(scipy.linalg, "eigh", lossy)
    V = Dense(A).directions(1, sign)
    assert V.shape == (9, 1) and sign * float((V.T @ A @ V)[0, 0]) == pytest.approx(1)


@given(p=st.integers(1, 5), extra=st.integers(0, 20), condition=CONDITIONS, seed=seeds())
def test_complex_hermitian_forms(p, extra, condition, seed):
    n, rng = p + extra, np.random.default_rng(seed)
    B = conditioned_symmetric(n, condition, rng, dtype=complex)
    A = conditioned_symmetric(n, condition, rng, negative=n // 2, dtype=complex)
    R = conditioned_symmetric(p, condition**0.25, rng, negative=p // 2, dtype=complex)
    manifolds = [go.GeneralizedStiefel(B, p)]
    if n - n // 2 >= p - p // 2:
        manifolds.append(go.BilinearStiefel(A, R))
    for M in manifolds:
        assert_on(M, M.random_point(rng))


@given(
    kind=st.sampled_from(("dense", "sparse", "operator")),
    p=st.integers(1, 4),
    extra=st.integers(0, 20),
    condition=CONDITIONS,
    seed=seeds(),
)
def test_skew_forms(kind, p, extra, condition, seed):
    """Also n = 2p and n = p."""
    rng = np.random.default_rng(seed)
    A, R = (
        conditioned_skew(2 * (p + extra), condition, rng),
        conditioned_skew(2 * p, condition**0.25, rng),
    )
    convert = {
        "dense": np.asarray,
        "sparse": scipy.sparse.csr_array,
        "operator": scipy.sparse.linalg.aslinearoperator,
    }
    M = go.BilinearStiefel(convert[kind](A), R)
    assert_on(M, M.random_point(rng))


@given(seed=seeds(), p=st.integers(1, 4), extra=st.integers(0, 12))
def test_blocks_with_different_signatures(seed, p, extra):
    """from_maps on three blocks: A_k and Q_k have k negative eigenvalues, or p if k > p."""
    rng, n = np.random.default_rng(seed), p + extra
    counts = [min(k, p) for k in range(3)]
    A = np.stack([conditioned_symmetric(n, 10.0, rng, negative=k) for k in counts])
    Q = np.stack([conditioned_symmetric(p, 2.0, rng, negative=k) for k in counts])
    inverse = np.linalg.inv(Q)
    M = go.from_maps((3, n, p), lambda X: A @ X @ inverse, lambda T: Q @ T @ inverse)
    assert_on(M, M.random_point(rng))


@given(seed=seeds(), p=st.integers(1, 3), extra=st.integers(1, 6))
def test_indefinite_form_on_a_subspace(seed, p, extra):
    """F = block-diagonal matrices and nothing known but phi and psi.

    Gaussian matrices alone would hardly ever do.
    """
    n = 2 * (p + extra)
    mask = scipy.linalg.block_diag(np.ones((p + extra, p)), np.ones((p + extra, p)))
    H = scipy.linalg.block_diag(
        *(conditioned_symmetric(p + extra, 10.0, (seed, k), negative=extra) for k in range(2))
    )
    M = go.from_maps((n, 2 * p), lambda X: H @ X, lambda T: T, ambient=lambda Y: mask * Y)
    X = M.random_point(seed)
    assert_on(M, X)
    assert np.array_equal(mask * X, X)


@given(seed=seeds(), n=st.integers(1, 12), condition=st.floats(1, 100), data=st.data())
def test_single_precision(seed, n, condition, data):
    p = data.draw(st.integers(1, n))
    A = conditioned_symmetric(n, condition, seed, negative=n - p).astype(np.float32)
    B = conditioned_symmetric(n, condition, seed).astype(np.float32)
    for M in (
        go.HyperbolicStiefel(A, p),
        go.GeneralizedStiefel(B, p),
        go.Stiefel(n, p, dtype=np.float32),
    ):
        assert_on(M, M.random_point(seed))


@given(
    recipe=recipes(families=("generalized", "indefinite-dense", "indefinite-diagonal"), max_n=30)
)
def test_no_longer_than_needed(recipe):
    """The median of |X| stays near the smallest |X| on M, the sum of 1/|strongest eigenvalues|.

    A random subspace of m = 4p of the n dimensions holds a share m/n of the strongest directions.
    """
    M = recipe.build()
    plus, minus = (
        int((s * np.linalg.eigvalsh(M.right.Q.left(np.eye(M.shape[1]))) > 0).sum()) for s in (1, -1)
    )
    values = np.linalg.eigvalsh(M.left.left(np.eye(M.shape[0])))
    least = np.sqrt(np.sum(1 / values[M.shape[0] - plus :]) + np.sum(1 / -values[:minus]))
    lengths = [np.linalg.norm(M.random_point(k)) for k in range(41)]
    n, p = M.shape
    assert min(lengths) >= least * (1 - 1e-6)
    assert np.median(lengths) <= 15 * least * np.sqrt(n / min(n, 4 * p))


# ----------------------------------------------------------------------------------------------
# spread

SPREAD = {
    "stiefel": lambda: go.Stiefel(12, 3),
    "stiefel-square": lambda: go.Stiefel(4, 4),
    "stiefel-complex": lambda: go.Stiefel(6, 2, dtype=complex),
    "generalized": lambda: go.GeneralizedStiefel(np.linspace(1, 3, 12), 3),
    "tensor": lambda: go.TensorStiefel(6, 2, 3),
    "hyperbolic": lambda: go.HyperbolicStiefel(
        np.r_[np.linspace(1, 2, 8), -np.linspace(1, 2, 4)], 3
    ),
    "hyperbolic-few": lambda: go.HyperbolicStiefel(np.r_[np.ones(4), -np.ones(40)], 2),
    "hyperbolic-just": lambda: go.HyperbolicStiefel(np.r_[np.ones(2), -np.ones(20)], 2),
    "indefinite-square": lambda: go.IndefiniteStiefel(
        np.r_[np.ones(3), -np.ones(2)], np.r_[np.ones(3), -np.ones(2)]
    ),
    "hyperboloid": lambda: go.IndefiniteStiefel(np.r_[np.ones(5), -1.0], np.array([-1.0])),
    "symplectic": lambda: go.SymplecticStiefel(12, 4),
    "symplectic-square": lambda: go.SymplecticStiefel(4, 4),
    "from-maps": lambda: go.from_maps((6, 2), np.conj, np.conj, dtype=complex),
}
UNBOUNDED = tuple(SPREAD)[5:]
DRAWS = 200


@cache
def draws(name: str) -> np.ndarray:
    """200 points, stacked."""
    M, rng = SPREAD[name](), np.random.default_rng(0)
    return np.stack([M.random_point(rng) for _ in range(DRAWS)])


def flat(points: np.ndarray) -> np.ndarray:
    return points.reshape(len(points), -1)


@pytest.mark.parametrize("name", SPREAD)
def test_mean_is_zero(name):
    """X -> -X maps M to itself, so the mean of the draws is near zero.

    |mean of N draws| is about rms |X| / sqrt(N), and |X| itself for a fixed point.
    """
    X = flat(draws(name))
    rms = np.sqrt(np.mean(np.linalg.norm(X, axis=1) ** 2))
    assert np.linalg.norm(X.mean(axis=0)) <= 2 * rms / np.sqrt(DRAWS)


@pytest.mark.parametrize(
    "name", [n for n in SPREAD if not n.startswith("symplectic") and n != "hyperboloid"]
)
def test_columns_change_sign_by_themselves(name):
    """X -> X diag(1, -1, ..) maps M to itself where Q is diagonal.

    The mean of x_1^T x_2 is zero.
    """
    X = draws(name)
    product = np.sum(X[..., 0].conj() * X[..., 1], axis=-1).reshape(DRAWS, -1)[:, 0]
    size = np.linalg.norm(X[..., 0], axis=-1) * np.linalg.norm(X[..., 1], axis=-1)
    assert abs(product.mean()) <= 4 * np.sqrt(np.mean(size**2) / DRAWS)


@pytest.mark.parametrize("name", [n for n in SPREAD if not n.endswith("square")])
def test_column_spaces_vary(name):
    """|P_X - P_Y|^2 is 2p(1 - p/n) for independent Haar subspaces.

    A fixed one, however turned, gives zero.
    """
    X = draws(name)
    *_, n, p = X.shape
    Q = np.linalg.qr(X)[0]
    overlap = np.linalg.norm(np.swapaxes(Q[0::2].conj(), -1, -2) @ Q[1::2], axis=(-2, -1)) ** 2
    # Where A has exactly as many directions of a sign as Q, every column space is near them.
    share = 0.02 if name in ("hyperboloid", "hyperbolic-just") else 0.5
    assert np.mean(2 * p - 2 * overlap) >= share * 2 * p * (1 - p / n)


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_directions_vary(name):
    """M is unbounded where the form is indefinite.

    Log |X|_2, the distance from its waist, varies.
    """
    reach = np.log(np.linalg.norm(draws(name), ord=2, axis=(-2, -1)))
    assert np.std(reach) >= 0.1
    assert np.ptp(reach) >= 0.5


def test_stiefel_is_haar():
    """E X X^T = (p/n) I, and every entry has variance 1/n.

    Also the diagonal ones, whose sign QR would fix.
    """
    M, rng = go.Stiefel(5, 3), np.random.default_rng(0)
    X = np.stack([M.random_point(rng) for _ in range(4000)])
    assert np.abs(np.mean(X @ X.mT, axis=0) - 0.6 * np.eye(5)).max() <= 0.03
    assert np.abs(np.mean(X, axis=0)).max() <= 4 / np.sqrt(5 * 4000)
    assert np.abs(np.mean(X**2, axis=0) - 1 / 5).max() <= 0.03


@given(recipe=recipes(), seed=seeds())
def test_a_seed_decides_the_point(recipe, seed):
    """On a new manifold, and after other draws on the same one; a generator moves on.

    Other seeds differ.
    """
    M, N = recipe.build(), recipe.build()
    X = M.random_point(seed)
    M.random_point(seed + 1)
    assert np.array_equal(M.random_point(seed), X)
    assert np.array_equal(N.random_point(np.random.default_rng(seed)), X)
    rng = np.random.default_rng(seed)
    if M.dim > 0:
        assert not np.array_equal(M.random_point(rng), M.random_point(rng))
        assert not np.array_equal(M.random_point(seed + 1), X)


def test_global_random_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002  it is the global state that is looked at
    for kind in KINDS:
        M = go.IndefiniteStiefel(
            matrix_of(kind, signed_values(60, 2, 1e6, 0), 0), np.array([1.0, -1.0, -1.0])
        )
        M.random_point()
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_complex_points_have_every_phase():
    """X -> iX maps M to itself: the mean of x^2 is small against that of |x|^2."""
    manifold = go.HyperbolicStiefel(np.array([1.0, 1.0, 1.0, -1.0]) + 0j, 2)
    rng = np.random.default_rng(6)
    X = np.stack([manifold.random_point(rng) for _ in range(200)])
    assert abs(np.mean(X**2)) <= 4 / np.sqrt(X.size) * np.mean(np.abs(X) ** 2)
