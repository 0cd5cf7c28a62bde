"""The companion that is read off psi, and the form that is read off phi."""

from __future__ import annotations

import numpy as np

import genorth.testing as gt
from genorth.geometry.companion import read_companion


def test_companion_of_complex_entries_is_read_as_a_hermitian_matrix() -> None:
    """F5: psi(E_i1) gives the columns of Q up to one complex factor.

    Half of its angle makes Q Hermitian.

    The factor is an entry of R^-1. Here it is imaginary: without the turn the Hermitian part would
    be zero.
    """
    inverse = gt.conditioned_symmetric(5, 3.0, 0, dtype=complex)
    inverse[0] = inverse[:, 0] = 0
    inverse[0, 1], inverse[1, 0] = 2j, -2j
    R = np.linalg.inv(inverse)
    companion = read_companion(lambda T: R @ T @ inverse, R.shape, np.dtype(complex))
    assert companion is not None and companion.sign == 1
    Q = np.asarray(companion.Q.left(np.eye(5, dtype=complex)))
    unit = 1e3 * np.finfo(float).eps * np.linalg.cond(R)
    assert np.linalg.norm(Q - Q.conj().T) <= unit
    factor = np.vdot(R, Q) / np.vdot(R, R)
    assert np.linalg.norm(Q - factor * R) <= unit * np.linalg.norm(Q)
