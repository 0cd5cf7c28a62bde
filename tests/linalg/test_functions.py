"""Functions of small matrices against their definitions, SciPy, and known answers.

The answer is known for matrices built from it.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth.linalg.arrays import ct
from genorth.linalg.functions import eigh, expm, inverse, inverse_sqrt
from support.norms import EPS, Matrix, norm

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 12)
batches = st.sampled_from([(), (1,), (3,)])
kinds = st.sampled_from(["f", "c"])
exponents = st.floats(0, 8)  # condition numbers 1 to 1e8


def gaussian(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Matrix:
    G = rng.standard_normal(shape)
    return G + 1j * rng.standard_normal(shape) if kind == "c" else G


def orthogonal(rng: np.random.Generator, batch: tuple[int, ...], p: int, kind: str) -> Matrix:
    return np.linalg.qr(gaussian(rng, (*batch, p, p), kind))[0]


def graded(p: int, condition: float) -> Matrix:
    return np.geomspace(1, 1 / condition, p) if p > 1 else np.ones(1)


def skewed(
    rng: np.random.Generator, batch: tuple[int, ...], p: int, kind: str
) -> tuple[Matrix, Matrix]:
    """V of condition number 10, and its inverse: eigenvectors that are not orthogonal."""
    U, W, s = orthogonal(rng, batch, p, kind), orthogonal(rng, batch, p, kind), graded(p, 10.0)
    return U * s @ ct(W), W / s @ ct(U)


def in_sector(
    rng: np.random.Generator, p: int, condition: float, kind: str
) -> tuple[Matrix, Matrix]:
    """D and D^(-1/2): moduli graded, angles up to 3/4 pi.

    Where entries are real, the angles are rotations of the plane.
    """
    angles, moduli = rng.uniform(-2.35, 2.35, p), graded(p, condition)
    if kind == "c":
        values = moduli * np.exp(1j * angles)
        return np.diag(values), np.diag(values**-0.5)
    D, root = np.diag(moduli), np.diag(moduli**-0.5)
    for i in range(0, p - 1, 2):
        r, a = moduli[i], angles[i]
        D[i : i + 2, i : i + 2] = r * np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        a /= -2
        root[i : i + 2, i : i + 2] = r**-0.5 * np.array(
            [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
        )
    return D, root


@given(seeds, st.integers(1, 40), batches, kinds, exponents)
def test_eigenvalues_of_small_and_of_other_matrices(seed, p, batch, kind, exponent):
    """K U = U diag(l), U^T U = I, l rising: by LAPACK itself and by NumPy."""
    U = orthogonal(np.random.default_rng(seed), batch, p, kind)
    K = U * graded(p, 10**exponent) @ ct(U)
    values, V = eigh((K + ct(K)) / 2)
    assert norm(K @ V - V * values[..., None, :]) <= 100 * p * EPS * norm(K)
    assert norm(ct(V) @ V - np.eye(p)) <= 100 * p * EPS * norm(V)
    assert np.all(np.diff(values, axis=-1) >= 0)


@given(seeds, sizes, batches, kinds, exponents)
def test_inverse_is_the_inverse(seed, p, batch, kind, exponent):
    rng, condition = np.random.default_rng(seed), 10.0**exponent
    U, W, s = orthogonal(rng, batch, p, kind), orthogonal(rng, batch, p, kind), graded(p, condition)
    result = inverse(U * s @ ct(W), "B")
    exact = W / s @ ct(U)
    assert norm(result - exact) <= 100 * p * EPS * condition * norm(exact)


@pytest.mark.parametrize("smallest", [0.0, 1e-17])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_inverse_refuses_what_leaves_no_digit(smallest, batch):
    B = np.broadcast_to(np.eye(3), (*batch, 3, 3)).copy()
    B[..., -1, -1] *= 1 if batch else smallest
    B[(-1,) * len(batch)][..., -1, -1] = smallest  # one block is enough
    with pytest.raises(
        go.OutsideDomainError, match=r"B of the step.*invertible.*tolerance.*Halve the step"
    ):
        inverse(B, "B of the step")


@pytest.mark.parametrize("shape", [(600, 600), (30000, 4, 4)])
def test_inverse_in_single_precision_takes_large_matrices_and_batches(shape):
    """What is refused depends on the condition number, not on p or the number of blocks."""
    B = 2 * np.broadcast_to(np.eye(shape[-1], dtype=np.float32), shape)
    assert np.array_equal(inverse(B, "B"), B / 4)


@given(seeds, sizes, batches, kinds, exponents)
def test_inverse_sqrt_of_a_definite_matrix(seed, p, batch, kind, exponent):
    rng, condition = np.random.default_rng(seed), 10.0**exponent
    U, s = orthogonal(rng, batch, p, kind), graded(p, condition)
    exact = U * s**-0.5 @ ct(U)
    for hermitian in (True, False):
        Y = inverse_sqrt(U * s @ ct(U), hermitian)
        assert norm(Y - exact) <= 100 * p * EPS * condition * norm(exact)


@given(seeds, sizes, batches, kinds, exponents)
def test_inverse_sqrt_is_the_principal_one(seed, p, batch, kind, exponent):
    """The root whose eigenvalues have positive real part, also where M is far from normal."""
    rng, condition = np.random.default_rng(seed), 10.0**exponent
    D, root = in_sector(rng, p, condition, kind)
    V, inv = skewed(rng, batch, p, kind)
    exact = V @ root @ inv
    Y = inverse_sqrt(V @ D @ inv)
    assert norm(Y - exact) <= 1e4 * p * EPS * condition * norm(exact)


@given(seeds, sizes, batches, kinds, st.floats(-12, -0.31), st.booleans())
def test_inverse_sqrt_near_the_identity_to_the_last_digits(
    seed, p, batch, kind, exponent, hermitian
):
    rng = np.random.default_rng(seed)
    E = gaussian(rng, (*batch, p, p), kind)
    E = E + ct(E) if hermitian else E
    E *= 10.0**exponent / norm(E)
    Y = inverse_sqrt(np.eye(p) + E, hermitian)
    assert norm(Y @ (np.eye(p) + E) @ Y - np.eye(p)) <= 20 * p * EPS * np.sqrt(1 + 3 * len(batch))
    first_order = np.eye(p) - E / 2
    assert norm(Y - first_order) <= 2 * norm(E) ** 2 + 20 * p * EPS


@given(seeds, st.integers(2, 8), kinds, st.sampled_from(["negative", "zero"]), st.booleans())
def test_inverse_sqrt_refuses_eigenvalues_on_the_negative_axis(seed, p, kind, which, hermitian):
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 2, p)
    values[0] = -rng.uniform(0.1, 10) if which == "negative" else 0.0
    U = orthogonal(rng, (), p, kind)
    with pytest.raises(
        go.OutsideDomainError, match=r"<<X\+Z, X\+Z>>.*no eigenvalue on \(-inf, 0\].*Halve the step"
    ):
        inverse_sqrt(U * values @ ct(U), hermitian)


@pytest.mark.parametrize("shape", [(4, 2), (4, 4), (12, 6)])
def test_a_double_negative_eigenvalue_is_refused(shape):
    """<<Y, Y>> of a skew form has double eigenvalues; rounding parts negative ones.

    A root of what is left leads off M. Of two hundred long steps nearly half have one.
    """
    manifold = go.SymplecticStiefel(*shape)
    refused = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = manifold.random_point(rng)
        Z = manifold.random_tangent(X, rng)
        Z *= rng.uniform(0.3, 3) * norm(X) / norm(Z)
        try:
            R = manifold.retract(X, Z, "polar")
        except go.OutsideDomainError:
            refused += 1
            values = np.linalg.eigvals(manifold.phi(X + Z).T @ (X + Z))
            assert np.any(values.real < 0)
        else:
            assert manifold.feasibility(R) <= 1e-9 * manifold.scale(R)
    assert 0 < refused < 200


@given(seeds, st.integers(1, 6), kinds)
def test_a_batch_is_its_blocks(seed, p, kind):
    """Block by block, blocks of very different size included."""
    rng = np.random.default_rng(seed)
    A = gaussian(rng, (3, p, p), kind) * np.array([1e-4, 1.0, 30.0])[:, None, None] / p
    M = A @ ct(A) + np.eye(p)
    of_definite = (
        lambda B: inverse(B, "B"),
        inverse_sqrt,
        lambda B: inverse_sqrt(B, hermitian=True),
    )
    for function, blocks in ((expm, A), *((function, M) for function in of_definite)):
        whole = function(blocks)
        for block, result in zip(blocks, whole, strict=True):
            alone = function(block)
            size = max(1.0, norm(block)) * np.linalg.cond(alone)
            assert norm(result - alone) <= 1e3 * p * EPS * size * norm(alone)


def test_blocks_of_very_different_size_have_their_own_scaling():
    """M^(-1/2) block by block: a common scaling would leave both far from I."""
    block = np.array([[2.0, 1.0], [-1.0, 2.0]])
    M = np.stack([1e10 * block, 1e-10 * block])
    Y = inverse_sqrt(M)
    for m, y in zip(M, Y, strict=True):
        np.testing.assert_allclose(y @ m @ y, np.eye(2), atol=1e-12)


def test_an_exponential_that_overflows_is_refused():
    with pytest.raises(go.OutsideDomainError, match="overflow"):
        expm(np.array([[1e3]]))
    assert expm(np.array([[-1e3]]))[0, 0] < 1e-300
    with pytest.raises(go.OutsideDomainError, match="overflow"):
        expm(np.array([[300.0]]))
    assert expm(np.array([[150.0]]))[0, 0] == pytest.approx(np.exp(150.0), rel=1e-12)
