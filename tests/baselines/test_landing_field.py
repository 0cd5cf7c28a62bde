"""F21 of docs/mathematics.md: the field of the landing methods, from phi and psi."""

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.field import field_of
from genorth.linalg.arrays import Array, ct, inner, norm
from genorth.testing.contract import Sample

MANIFOLDS = gt.manifolds(max_n=7)
#: There are about twenty families.
GENERAL = hypothesis.settings(max_examples=3 * hypothesis.settings().max_examples)


def _form(manifold: go.GenOrthManifold, U: Array, V: Array) -> Array:
    """<<U, V>> = phi(U)^T V."""
    return ct(manifold.phi(U)) @ V


@pytest.mark.statement("F21")
@GENERAL
@given(manifold=MANIFOLDS, seed=gt.seeds())
def test_F21_two_directions_make_one_that_keeps_C(manifold, seed):
    """DC(X)[U <<V,X>> - V <<U,X>>] = 0 for every U, V and X of F, on M or not."""
    s = Sample(manifold, seed)
    U, V, X = s.ambient(), s.ambient(), s.ambient()
    Z = U @ _form(manifold, V, X) - V @ _form(manifold, U, X)
    assert manifold.tangency(X, Z) <= s.u * s.q * s.L**2


@pytest.mark.statement("F21")
@GENERAL
@given(manifold=MANIFOLDS, seed=gt.seeds())
def test_F21_the_field_of_a_gradient(manifold, seed):
    """(G K - e N G^T N)/2 keeps C, ascends by |G N^T - e N G^T|^2/4, and is zero for normal G."""
    if manifold.companion is None:
        return
    s = Sample(manifold, seed)
    e = manifold.companion.sign
    Q = np.asarray(manifold.companion.Q.left(np.eye(manifold.shape[-1], dtype=manifold.dtype)))
    Q = Q / np.linalg.norm(Q, 2, axis=(-2, -1), keepdims=True)

    def field(X: Array, G: Array) -> Array:
        N = manifold.phi(X) @ Q
        return (G @ (ct(N) @ N) - e * N @ (ct(G) @ N)) / 2

    condition = float(np.max(np.linalg.cond(Q)))
    bound = s.u * s.q * condition * s.L**2
    X, G = s.ambient(), s.ambient()
    N, F = manifold.phi(X) @ Q, field(X, G)
    assert manifold.tangency(X, F) <= bound * s.L
    assert inner(G, F) == pytest.approx(
        float(norm(G @ ct(N) - e * N @ ct(G))) ** 2 / 4, rel=0, abs=bound
    )
    normal = manifold.phi(X) @ s.symmetric()
    assert norm(field(X, normal)) <= bound * s.L
    # On M it ascends along every tangent vector, as fast as the smallest singular value of N says.
    N = s.P @ Q
    tangent = s.tangent()
    smallest = float(np.min(np.linalg.svd(N, compute_uv=False)))
    rounding = s.u * s.q * condition * float(norm(s.P)) ** 2 * float(norm(tangent)) ** 2
    assert inner(tangent, field(s.X, tangent)) >= (
        smallest**2 * float(norm(tangent)) ** 2 / 2 - rounding
    )


@pytest.mark.statement("F25")
@given(gt.products(max_condition=1e2), gt.seeds(), st.floats(0.1, 2.0))
def test_F25_the_field_of_a_product_is_that_of_its_factors(product, seed, weight):
    """Also its multiplier, its slope <G, F>, DC of the direction, and |grad N|^2."""
    M, rng = product.blocks, np.random.default_rng(seed)
    X = M.random_point(rng)
    X, G = X + 1e-2 * M.random_ambient(rng), M.random_ambient(rng)
    field, at = field_of(M), M.anywhere(X)
    whole = field.direction(at, G, weight)
    pairs = field.pair(at, G)
    duals = M.matrices.split(field.dual(at, pairs))
    slope = attraction = 0.0
    parts = zip(M.factors, *map(M.points.split, (X, G, whole.D)), duals, pairs, strict=True)
    for factor, x, g, D, dual, R in parts:
        if isinstance(factor, go.Euclidean):
            assert np.array_equal(D, g) and dual.size == 0
            slope += float(np.vdot(g, g).real)
            continue
        own, place = field_of(factor), factor.anywhere(x)
        alone = own.direction(place, g, weight)
        size = 1 + float(norm(alone.D))
        assert norm(D - alone.D) <= 1e-12 * size
        assert norm(dual - own.dual(place, R)) <= 1e-12 * (1 + float(norm(dual)))
        slope, attraction = slope + alone.slope, attraction + alone.attraction
    assert whole.slope == pytest.approx(slope, rel=1e-10)
    assert whole.attraction == pytest.approx(attraction, rel=1e-10)
    assert whole.size == pytest.approx(float(norm(whole.D)))
    change = M.constraint_differential(X, whole.D)
    assert norm(whole.L - change) <= 1e-8 * (1 + float(norm(change)) + whole.size)
