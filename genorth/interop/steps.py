"""Steps of optimisers on a manifold, written against the array API.

PyTorch and Optax share them: the landing step, POGO's, Muon's, and one in a random submanifold.
"""

from __future__ import annotations

from typing import Any

from genorth.errors import refuse, require, require_known
from genorth.geometry.field import Field, shortened
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.retractions import RETRACTIONS
from genorth.linalg.arrays import Array, ct, eps, eye_like, is_lazy, namespace

_TOGETHER = 3  # steps of Newton-Schulz from one Gram matrix: its rounding grows with each
_TALL = 4  # times as many rows as columns: n x p arrays cost more than p x p ones
_SMALL = 1024  # entries of a matrix, below which its products cost little more than their calls
#: Of Muon's polynomial x (a + b x^2 + c x^4) [jordan2024muon].
_QUINTIC = 3.4445, -4.7750, 2.0315


def check_retraction(kind: Any) -> str:
    """The name of a retraction, or an error that lists them."""
    require_known("retraction", kind, RETRACTIONS)
    return str(kind)


def stepped(manifold: GenOrthManifold, X: Array, Z: Array, retraction: str) -> Array:
    """R_X(Z), followed by A, which keeps the rounding of many steps from adding up (F6).

    Args:
        manifold: The manifold.
        X: A point of M.
        Z: A tangent step; for "normal" any step, as the derivative of Newton's map is P_X (F16).
        retraction: The retraction.

    Returns:
        A point of M.
    """
    return manifold.dissolve(manifold.retract(X, Z, retraction))


def landing_step(
    field: Field, X: Array, G: Array, lr: Any, attraction: float, tube: float
) -> Array:
    """The end of a step of the landing method, shortened for each matrix to stay in the tube.

        X - t (F(X) + attraction grad N(X)), N = |C|^2/4, t <= lr

    Args:
        field: The tangent field of the manifold.
        X: A point within the tube.
        G: The Euclidean gradient, or its momentum.
        lr: The longest step t.
        attraction: The weight of the normal step.
        tube: The largest |C| of an iterate.

    Returns:
        The next iterate.
    """
    at = field.manifold.anywhere(X)
    ahead = field.direction(at, G, attraction)
    E = ct(ahead.D) @ field.manifold.phi(ahead.D)
    return X - shortened(lr, at.constraint, ahead.L, E, tube) * ahead.D


def pogo_step(field: Field, X: Array, G: Array, lr: Any, attraction: float, tube: float) -> Array:
    """The end of a step of POGO [javaloy2026embarrassingly], for every phi.

        Y = X - t F(X), X <- Y - attraction Y C(Y)^T, C(Y) = C(X) + t^2 F^T phi(F)

    F is tangent to the level set of C through X, so that C(Y) takes no phi(Y). For attraction 1/2
    the second step is A, which squares the violation.

    Args:
        field: The tangent field of the manifold.
        X: A point within the tube.
        G: The Euclidean gradient, or its momentum.
        lr: The longest step t; shortened for each matrix until |C(Y)| is within the tube.
        attraction: The weight of the normal step.
        tube: The largest |C(Y)|.

    Returns:
        The next iterate.
    """
    at = field.manifold.anywhere(X)
    if at.P is X and X.shape[-2] >= _TALL * X.shape[-1]:
        return _pogo_in_span(X, G, lr, attraction, tube)
    if at.P is X and 2 * X.shape[-2] < 3 * X.shape[-1]:  # two n x n products in place of three
        W = G @ ct(X)
        F = (W - ct(W)) @ (X / 2)
        Y = X - lr * F
        C = ct(Y) @ Y
        C = C - eye_like(C)
        if not is_lazy(C) and bool(namespace(C).all(_squares(C) <= tube**2)):
            return Y @ (eye_like(C) - attraction * ct(C))
    else:
        F = field.direction(at, G, 0.0).D
    C = at.constraint
    E = ct(F) @ field.manifold.phi(F)
    t = shortened(lr, C, None, E, tube)
    return (X - t * F) @ (eye_like(C) - attraction * ct(C + t * t * E))


def _pogo_in_span(X: Array, G: Array, lr: Any, attraction: float, tube: float) -> Array:
    """The same where phi(X) = X: 2 F = [X, G] T with T = [-R^T; S], S = X^T X, R = X^T G.

    One product gives S, R and F^T F, another one the end; the rest is of size 2p. Where X is small,
    fewer calls count for more: two of size p are replaced by F.
    """
    xp, p = namespace(X), X.shape[-1]
    H = xp.concat([X, G], axis=-1)
    gram = ct(H) @ H
    S, R = gram[..., :p, :p], gram[..., :p, p:]
    eye, T = eye_like(S), xp.concat([-ct(R), S], axis=-2)
    F = H @ T if X.shape[-2] * p < _SMALL else None
    C, E = S - eye, (ct(T) @ (gram @ T) if F is None else ct(F) @ F) / 4
    t = shortened(lr, C, None, E, tube)
    back = eye - attraction * ct(C + t * t * E)
    if F is not None:
        return (X - t / 2 * F) @ back
    TB = -t / 2 * (T @ back)
    return H @ xp.concat([back + TB[..., :p, :], TB[..., p:, :]], axis=-2)


def msign(G: Array, steps: int | None = None) -> Array:
    """The polar factor U V^T of G = U S V^T, for each matrix; zero where G is.

        G (G^T G)^(-1/2)

    By default exactly, from singular values. With `steps`, U p(S) V^T by that many steps of Muon's
    Newton-Schulz iteration [jordan2024muon], with two products of the size of G for every three
    steps; the rest is p x p.

    Args:
        G: A matrix, at least as tall as wide, or a stack of them.
        steps: The steps; None for the exact factor.

    Returns:
        The polar factor, or an approximation of it.
    """
    xp = namespace(G)
    square = _squares(G)
    G = G / xp.where(square > 0, square, 1 + 0 * square) ** 0.5
    if steps is None:
        U, S, Vh = xp.linalg.svd(G, full_matrices=False)
        large = xp.max(S, axis=-1, keepdims=True) * S.shape[-1] * eps(S) < S
        return (U * xp.where(large, 1 + 0 * S, 0 * S)[..., None, :]) @ Vh
    a, b, c = _QUINTIC
    for done in range(0, steps, _TOGETHER):
        S = ct(G) @ G
        eye, W = eye_like(S), None
        for _ in range(min(_TOGETHER, steps - done)):
            B = a * eye + (b * eye + c * S) @ S
            S, W = B @ S @ B, B if W is None else W @ B
        G = G @ W
    return G


def muon_direction(
    manifold: GenOrthManifold, X: Array, G: Array, steps: int | None, retraction: str
) -> Array:
    """The direction Z of a step like Muon's, R_X(-lr Z), for every phi (F28).

        P_X(msign(g)), g = P_X(G)

    The retraction "normal" takes msign(g) itself. The step descends, as <g, P_X(msign(g))> =
    <g, msign(g)> > 0 unless g = 0. On the Stiefel manifold and with the retraction "normal", the
    nearest point, it is that of SPEL [yang2026manifold].

    Args:
        manifold: The manifold.
        X: A point of M.
        G: The Euclidean gradient, or its momentum.
        steps: As in `msign`.
        retraction: The retraction.

    Returns:
        Z, of spectral norm about one.
    """
    Z = msign(manifold.project(X, G), steps)
    return Z if retraction == "normal" else manifold.project(X, Z)


def subspace_of(manifold: GenOrthManifold, rank: int) -> tuple[int, ...]:
    """The shape of the B of `subspace_step`, or an error that says why there is none.

    Args:
        manifold: The manifold.
        rank: The number r of columns of B.

    Returns:
        (n, r), after the axes that count points.

    Raises:
        ValueError: If r > n, or the form A of phi(X) = A X Q^-1 is not known and r != p.
    """
    *batch, n, p = manifold.shape
    require(1 <= rank <= n, "rank", f"1 <= rank <= n = {n}", repr(rank))
    if _form(manifold) is None and rank != p:
        refuse(
            "rank",
            f"rank = p = {p} on {manifold!r}, whose phi maps n x p matrices only (no matrix A with "
            "phi(X) = A X Q^-1 is known)",
            repr(rank),
        )
    return (*batch, n, rank)


def subspace_step(manifold: GenOrthManifold, X: Array, G: Array, lr: Any, B: Array) -> Array:
    """The end of a gradient step in the submanifold {U X : U = Cayley(B K B^T A)}, for every phi.

        X + t B (I - t/2 K H)^-1 K B^T A X, H = B^T A B, K = -skew(B^T G (B^T A X)^T), t <= lr

    U is the identity on what is orthogonal to B for the form A, and U^T A U = A. K is skew where A
    is symmetric, and symmetric where A is skew, so that <G, B K B^T A X> = -|K|^2. For A = I and
    B^T B = I it is a step of [han2025efficient]. Where only phi is known, phi(B)^T takes the place
    of B^T A, and K* = -K with T* = psi(T)^T. Where the form is not definite t |K H| <= 1, as
    Cayley's transform has poles there.

    Args:
        manifold: The manifold.
        X: A point of M.
        G: The Euclidean gradient, or its momentum.
        lr: The longest step t.
        B: A Gaussian array of the shape that `subspace_of` gives; its columns are made orthonormal
            where A is known.

    Returns:
        A point of M.
    """
    form, xp = _form(manifold), namespace(X)
    if form is None:
        B = manifold.ambient(B) * B.shape[-2] ** -0.5
        image = manifold.phi(B)
    else:
        B = xp.linalg.qr(B)[0]
        image = form.left(B)
    c, H = ct(image) @ X, ct(image) @ B
    T = ct(B) @ G @ ct(c)
    if form is None:  # the projection, where psi(psi(T)) = T
        T = (T - manifold.psi(ct(T))) / 2
        K = (ct(manifold.psi(T)) - T) / 2
    else:
        assert manifold.companion is not None
        K = (manifold.companion.sign * ct(T) - T) / 2
    KH = K @ H
    if not manifold.definite:
        size = _squares(KH) ** 0.5
        lr = lr / xp.where(lr * size > 1, lr * size, 1 + 0 * size)
    return X + B @ xp.linalg.solve(eye_like(KH) - lr / 2 * KH, lr * (K @ c))


def _squares(T: Array) -> Array:
    """|T|^2 of each matrix, of shape (..., 1, 1)."""
    return namespace(T).sum(abs(T) ** 2, axis=(-2, -1), keepdims=True)


def _form(manifold: GenOrthManifold) -> Any:
    """A of phi(X) = A X Q^-1, for one point or a stack of them."""
    return getattr(manifold, "manifold", manifold).form
