"""Matrices at the edge of what is accepted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import genorth as go
import genorth.testing as gt

KINDS = {
    "dense": np.asarray,
    "sparse": scipy.sparse.csr_array,
    "operator": scipy.sparse.linalg.aslinearoperator,
}
S = gt.conditioned_symmetric(6, 10.0, 0)
CORNER = np.zeros((6, 6))
CORNER[0, 5] = 1.0


def test_p_is_at_most_n() -> None:
    assert go.Stiefel(4, 4).shape == (4, 4)
    for p in (5, 6):
        with pytest.raises(ValueError, match=r"^p: need p <= n = 4"):
            go.Stiefel(4, p)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("kind", KINDS)
def test_symmetry_is_asked_for_relative_to_the_size(kind: str, scale: float) -> None:
    """An asymmetry of 1e-14 |S| is rounding, one of 1e-10 |S| is not."""
    go.GeneralizedStiefel(KINDS[kind](scale * (S + 1e-14 * CORNER)), 2)
    with pytest.raises(ValueError, match=r"^B: need "):
        go.GeneralizedStiefel(KINDS[kind](scale * (S + 1e-10 * CORNER)), 2)


def test_the_hint_names_the_part_that_would_pass() -> None:
    with pytest.raises(ValueError, match=r"\|B - B\^T\|.*Pass \(B \+ B\.T\)/2"):
        go.GeneralizedStiefel(S + CORNER, 2)
    K = gt.conditioned_skew(6, 3.0, 0)
    with pytest.raises(ValueError, match=r"\|A \+ A\^T\|.*Pass \(A - A\.T\)/2"):
        go.BilinearStiefel(K + 1e-3 * CORNER, gt.conditioned_skew(2, 1.0, 0))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_an_empty_matrix_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=r"^B: need .*\(0, 0\)"):
        go.GeneralizedStiefel(KINDS[kind](np.zeros((0, 0))), 1)


def test_a_sparse_matrix_of_objects_is_refused() -> None:
    B = scipy.sparse.csr_array(np.eye(3))
    B.data = B.data.astype(object)
    with pytest.raises(ValueError, match=r"^B: need real or complex numbers.*object"):
        go.GeneralizedStiefel(B, 1)
