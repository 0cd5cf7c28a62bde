"""Steps of optimisers for every phi, in NumPy: they descend, and stay on M or next to it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.errors import OutsideDomainError
from genorth.geometry.field import Field
from genorth.interop.steps import (
    msign,
    muon_direction,
    pogo_step,
    stepped,
    subspace_of,
    subspace_step,
)
from genorth.linalg.arrays import inner, norm
from support.layer_manifolds import refuses

EPS = 2.0**-52


def _drop(G: Any, Y: Any, X: Any) -> float:
    """The decrease of the linear function <G, X>."""
    return float(inner(G, X - Y))


@pytest.mark.statement("F28")
@given(manifold=gt.manifolds(), seed=st.integers(0, 2**20), steps=st.sampled_from([None, 5]))
def test_the_step_of_muon_descends(manifold, seed, steps):
    """F28: <g, P_X msign(g)> = <g, msign(g)>, at least |g| where the factor is exact."""
    rng = np.random.default_rng(seed)
    X, G = manifold.random_point(rng), manifold.random_ambient(rng)
    g = manifold.project(X, G)
    size, rounding = float(norm(g)), 1e-9 * float(norm(G)) * float(manifold.scale(X))
    assume(size > rounding)
    Z = manifold.project(X, msign(g, steps))
    nuclear = float(np.linalg.svd(g, compute_uv=False).sum())
    slope = float(inner(G, Z))
    if steps is None:
        assert abs(slope - nuclear) <= 1e-6 * nuclear + rounding
    assert slope >= 0.6 * size - rounding
    t = 1e-3 / float(manifold.scale(X)) ** 2
    lost = 1e3 * EPS * float(norm(G)) * float(manifold.scale(X)) ** 2
    for kind in ("cayley", "normal"):
        try:
            Y = stepped(manifold, X, -t * muon_direction(manifold, X, G, steps, kind), kind)
        except OutsideDomainError:
            continue
        assert abs(_drop(G, Y, X) - t * slope) <= 0.1 * t * slope + lost


@given(shape=st.sampled_from([(5, 3), (4, 4), (7, 1), (3, 6, 2)]), seed=st.integers(0, 2**20))
def test_msign_by_newton_schulz_is_near_the_polar_factor(shape, seed):
    rng = np.random.default_rng(seed)
    U, _, Vh = np.linalg.svd(rng.standard_normal(shape), full_matrices=False)
    S = rng.uniform(0.1, 1, (*shape[:-2], 1, shape[-1]))
    G = 1e3 * (U * S) @ Vh
    assert np.linalg.norm(msign(G) - U @ Vh) <= 1e-12
    near = np.linalg.svd(msign(G, 5), compute_uv=False)
    assert near.min() > 0.6
    assert near.max() < 1.3
    plain = G / np.linalg.norm(G, axis=(-2, -1), keepdims=True)
    for _ in range(5):
        A = plain.mT @ plain
        plain = 3.4445 * plain + plain @ (-4.7750 * A + 2.0315 * A @ A)
    assert np.linalg.norm(msign(G, 5) - plain) <= 1e-9


@pytest.mark.parametrize("steps", [None, 5])
def test_msign_of_a_zero_gradient_is_zero(steps):
    """And a zero singular value has no direction of its own."""
    G = np.zeros((2, 5, 3))
    G[1, 0, 0] = 2.0
    once = np.zeros((2, 5, 3))
    once[1, 0, 0] = 1.0
    assert np.abs(msign(G, steps) - once).max() <= (1e-12 if steps is None else 0.5)
    assert not msign(G, steps)[0].any()


@given(manifold=gt.manifolds(), seed=st.integers(0, 2**20))
def test_pogo_squares_the_violation_of_a_tangent_step(manifold, seed):
    """C(X - t F) = C(X) + t^2 F^T phi(F), and A of it."""
    rng = np.random.default_rng(seed)
    X, G = manifold.random_point(rng), manifold.random_ambient(rng)
    F = Field(manifold).direction(manifold.anywhere(X), G, 0.0).D
    t = 1e-2 / max(float(norm(F)) * float(manifold.scale(X)), 1.0)
    Y = pogo_step(Field(manifold), X, G, t, 0.5, 0.5)
    expected = manifold.dissolve(X - t * F)
    assert np.linalg.norm(Y - expected) <= 1e4 * EPS * float(manifold.scale(X)) ** 2
    near = pogo_step(Field(manifold), X, G, 1e6, 0.5, 0.1)
    blocks = manifold.constraint(near).reshape(-1, *F.shape[-1:] * 2)
    worst = max(np.linalg.norm(block) for block in blocks)
    assert worst <= 0.75 * 0.1**2 + 0.1**3 / 4 + 1e-8 * float(manifold.scale(X)) ** 2


@pytest.mark.parametrize(
    "shape", [(16, 4), (300, 4), (3, 9, 2), (16, 4, complex), (5, 4), (3, 6, 5), (4, 4, complex)]
)
def test_a_tall_or_square_step_of_pogo(shape):
    """With fewer products, the same as with a phi that is not known to be the identity."""
    *size, dtype = shape if shape[-1] is complex else (*shape, float)
    tensor = len(size) == 3
    M = go.TensorStiefel(size[1], size[2], size[0]) if tensor else go.Stiefel(*size, dtype=dtype)
    plain = go.from_maps(M.shape, lambda X: 1 * X, lambda T: 1 * T, dtype=dtype)
    rng = np.random.default_rng(0)
    X = M.random_point(rng) + 0.01 * M.random_ambient(rng)
    G = M.random_ambient(rng)
    for lr in (0.03, 100.0):
        ours, theirs = (pogo_step(Field(N), X, G, lr, 0.4, 0.3) for N in (M, plain))
        assert np.linalg.norm(ours - theirs) <= 1e-12 * np.linalg.norm(theirs)


@given(manifold=gt.manifolds(), seed=st.integers(0, 2**20), rank=st.integers(1, 4))
def test_a_step_in_a_submanifold_stays_on_m_and_descends(manifold, seed, rank):
    """And leaves alone what is orthogonal to the subspace; without A, rank = p."""
    *batch, n, p = manifold.shape
    rank = p if manifold.form is None else min(rank, n)
    rng = np.random.default_rng(seed)
    X, G = manifold.random_point(rng), manifold.random_ambient(rng)
    shape = subspace_of(manifold, rank)
    assert shape == (*batch, n, rank)
    B = rng.standard_normal(shape).astype(manifold.dtype)
    size = float(manifold.scale(X)) ** 2 * float(norm(G))
    t = 1e-4 / max(size, 1.0)
    Y = subspace_step(manifold, X, G, t, B)
    assert manifold.feasibility(Y) <= 1e4 * EPS * float(manifold.scale(X)) ** 2
    drop = _drop(G, Y, X)
    assert drop >= -1e3 * EPS * size
    far = subspace_step(manifold, X, G, 1e3, B)
    assert np.isfinite(far).all()
    if manifold.form is not None:
        D = Y - X
        Q = np.linalg.qr(B)[0]
        assert np.linalg.norm(D - Q @ (Q.mT.conj() @ D)) <= 1e3 * EPS * float(norm(X))


def test_the_rank_of_a_subspace():
    refuses(lambda: subspace_of(go.Stiefel(6, 3), 7), "rank", "6")
    refuses(lambda: subspace_of(go.Stiefel(6, 3), 0), "rank", "1 <=")
    refuses(lambda: subspace_of(go.TensorStiefel(6, 3, 2), 2), "rank", "p = 3", "matrix A")
