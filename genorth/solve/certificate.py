"""`Certificate`: whether a stationary point is a minimum or a saddle, by Lanczos on the Hessian.

It knows a tangent space by what a `Run` gives: Hessian products, the preconditioner, projections.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import attrs
import numpy as np
import scipy.linalg

from genorth.linalg.arrays import Array, eps, inner, norm, number
from genorth.notebook import html_table

_Map = Callable[[Array], Array]
MINIMUM, SADDLE, UNDECIDED = "minimum", "saddle", "undecided"
ACCURACY = 0.02  # of the smallest Ritz value, relative to the largest
_LEAST = 5  # steps: after fewer a Ritz value may have converged to another eigenvalue by chance
_ZERO = 1e-4  # a residual, relative to the largest Ritz value, beyond which zero is zero
_SURE = 0.5  # residual of a Ritz value, relative to it, at which its sign is taken for certain
_UNITS = 10.0  # of roundoff in a product, or of its root in one by differences
_GRADIENT = 10.0  # eigenvalues that are zero at a solution are about |grad f| near it
_SAME = 1e-6  # what is left, relative to it, of a gauge that is in another
CHANCE = 0.01  # that an eigenvalue below -unseen was missed


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Certificate:
    """What is known of the Hessian of f on T_x M, and so of the stationary point x.

    A saddle is proved: f has negative curvature along `direction`, beyond the error. A minimum is
    one up to the chance that the random start of Lanczos had too small a component in a direction
    of negative curvature; `unseen` states it. Nothing is said of other, lower minima.
    """

    #: "minimum", "saddle" or "undecided".
    verdict: str
    #: The smallest Ritz value away from zero: the smallest eigenvalue is at most this.
    eigenvalue: float = math.nan
    #: An eigenvalue is within this of `eigenvalue`: the residual, and the error of the products.
    error: float = math.nan
    #: The Ritz vector, a unit tangent vector: the way down from a saddle.
    direction: Array | None = None
    #: The Hessian products it took.
    products: int = 0
    #: How many eigenvalues are zero because f(X T) = f(X) for all T with T*T = I.
    zeros: int = 0
    #: The norm of the Riemannian gradient at x.
    gradient_norm: float
    #: With a chance of 99 % no eigenvalue is below minus this; NaN for a saddle, and with a
    #: preconditioner.
    unseen: float = math.nan
    #: What was found and what it means, in words.
    explanation: str

    def _lines(self) -> dict[str, str]:
        return {
            "verdict": self.verdict,
            "eigenvalue": f"{self.eigenvalue:.3g} +- {self.error:.1g}",
            "gradient_norm": f"{self.gradient_norm:.3g}",
            "products": str(self.products),
            "explanation": self.explanation,
        }

    def __repr__(self) -> str:
        return "\n".join(f"{name:>13}: {value}" for name, value in self._lines().items())

    def _repr_html_(self) -> str:
        return html_table(f"Certificate: {self.verdict}", self._lines().items())


class Ritz(NamedTuple):
    """The smallest Ritz value with its residual and vector, and what else Lanczos has seen."""

    value: float
    residual: float
    largest: float
    noise: float
    steps: int
    exhausted: bool
    Z: Array
    HZ: Array

    @property
    def done(self) -> bool:
        """Whether the smallest Ritz value is known well enough."""
        certain = max(_SURE * abs(self.value), self.noise)
        if self.value < -self.noise:
            return self.residual <= certain
        known = max(ACCURACY * self.largest, self.noise)
        return self.steps >= _LEAST and self.residual <= min(
            known, max(certain, _ZERO * self.largest)
        )


def lanczos(
    hessian: _Map,
    precondition: _Map | None,
    U: Array,
    limit: int,
    noise: float,
    unit: float,
    first: Array | None = None,
) -> Ritz:
    """The smallest Ritz value of the Hessian H, or of M^-1 H, by Lanczos from U.

        H z_k = b_(k-1) u_(k-1) + a_k u_k + b_k u_(k+1), z_k = M^-1 u_k, <z_j, u_k> = [j = k]

    With full reorthogonalisation; M^-1 is the preconditioner, and M^-1 H has as many negative
    eigenvalues as H. What <z_j, H z_k> differs from the recurrence measures the error of products.

    Args:
        hessian: H, a symmetric map of the tangent space.
        precondition: M^-1, symmetric and positive definite, or None.
        U: The start.
        limit: The largest number of products.
        noise: The error of a product, besides what is measured.
        unit: The error of a product, relative to the largest Ritz value.
        first: H U, where it is known and there is no preconditioner.

    Returns:
        What was found.

    Raises:
        FloatingPointError: If a product is not finite.
    """
    us: list[Array] = []
    zs: list[Array] = []
    images: list[Array] = []
    diagonal: list[float] = []
    off: list[float] = []
    defect, W, known = 0.0, U, first
    Z, left = _with_length(W, precondition)
    while True:
        off.append(left)
        us.append(W / left)
        zs.append(Z / left)
        W = hessian(zs[-1]) if known is None else known / left
        known = None
        images.append(W)
        seen = np.array([number(inner(W, Z)) for Z in zs])
        diagonal.append(seen[-1])
        if len(zs) > 1:
            seen[-2] -= off[-1]
            defect = max(defect, float(np.linalg.norm(seen[:-1])))
        for _ in range(2):
            for Z, V in zip(zs, us, strict=True):
                W = W - number(inner(W, Z)) * V
        Z, left = _with_length(W, precondition)
        if not math.isfinite(left + seen[-1]):
            raise FloatingPointError("a Hessian product is not finite")
        values, S = scipy.linalg.eigh_tridiagonal(diagonal, off[1:])
        largest = float(np.abs(values).max())
        error = noise + unit * largest + 2 * defect
        value, residual = float(values[0]), left * abs(float(S[-1, 0]))
        found = Ritz(value, residual, largest, error, len(zs), left <= error, W, W)
        if found.done or found.exhausted or len(zs) >= limit:
            vector, image = (
                sum(float(s) * V for s, V in zip(S[:, 0], Vs, strict=True)) for Vs in (zs, images)
            )
            return found._replace(Z=vector, HZ=image)


def _with_length(W: Array, precondition: _Map | None) -> tuple[Array, float]:
    """Z = M^-1 W, and <W, Z>^(1/2)."""
    Z = W if precondition is None else precondition(W)
    return Z, math.sqrt(max(number(inner(W, Z)), 0.0))


def unseen(steps: int, dimension: int) -> float:
    """The d for which an eigenvalue below -d L would have been missed with a chance of 1 %.

        (2 n/(pi (1 + d T_k(1 + 2 d)^2)))^(1/2) = 0.01

    L is the largest eigenvalue, n the dimension, T_k Chebyshev's polynomial of degree k = steps -
    1: in T_k(H) z, mapped to [0, L], an eigenvector of eigenvalue -d L outweighs all others unless
    its share of the random z is below 1/(1 + d T_k^2).
    """
    low, high = 0.0, 1e3
    for _ in range(60):
        d = (low + high) / 2
        growth = math.log(d) + 2 * (steps - 1) * math.acosh(1 + 2 * d) - math.log(4)
        missed = math.sqrt(2 * dimension / math.pi / (1 + math.exp(min(growth, 600.0))))
        low, high = (d, high) if missed > CHANCE else (low, d)
    return high


class Gauge(NamedTuple):
    """The directions X S, S* = -S, along which f is constant if f(X T) = f(X)."""

    #: A random one of them.
    along: Array
    dimension: int
    #: The projection onto their complement.
    outside: _Map


def verdict(
    hessian: _Map,
    precondition: _Map | None,
    start: Array,
    *,
    gradient_norm: float,
    dimension: int,
    limit: int,
    exact: bool,
    gauges: Iterable[Gauge] = (),
) -> Certificate:
    """Examine the Hessian H at a stationary point.

    Args:
        hessian: H, a map of the tangent space.
        precondition: The preconditioner there, or None.
        start: A Gaussian tangent vector z.
        gradient_norm: The norm of the gradient.
        dimension: The dimension of the tangent space.
        limit: The largest number of products.
        exact: Whether products are exact, not differences.
        gauges: What may be zeros of H. They are where H z is orthogonal to a random one of them, as
            <H z, X S> = <z, H X S>, and are left out then. Those along which f was found constant
            already count once.

    Returns:
        The certificate.
    """
    noise = _GRADIENT * gradient_norm
    unit = _UNITS * (eps(start) if exact else eps(start) ** 0.5)
    size, image = number(norm(start)), hessian(start)
    scale = number(norm(image)) / size if size > 0 else 0.0
    rounding = max(noise, 100 * unit * scale)
    free: list[Gauge] = []

    def outside(Z: Array) -> Array:
        for gauge in free:
            Z = gauge.outside(Z)
        return Z

    for gauge in gauges:
        length = number(norm(gauge.along))
        new = number(norm(outside(gauge.along))) > _SAME * length
        if new and abs(number(inner(image, gauge.along))) <= rounding * length:
            free.append(gauge)
    zeros = sum(gauge.dimension for gauge in free)
    known: dict[str, Any] = {"gradient_norm": gradient_norm, "zeros": zeros, "products": 1}
    explained = f" {zeros} eigenvalues are zero, as f(X T) = f(X)." if zeros else ""
    if dimension <= zeros:
        text = f"No direction is left in which f could change.{explained}"
        return Certificate(verdict=MINIMUM, explanation=text, **known)
    if not scale > noise:
        text = f"The Hessian is zero up to {noise:.1g}: second derivatives decide nothing here."
        return Certificate(
            verdict=UNDECIDED, eigenvalue=0.0, error=noise, explanation=text, **known
        )

    def product(Z: Array) -> Array:
        return outside(hessian(Z))

    def apply(V: Array) -> Array:
        assert precondition is not None
        return outside(precondition(V))

    most, once = dimension - zeros, precondition is None
    ritz = lanczos(
        product,
        None if once else apply,
        outside(start),
        min(limit if once else limit - 1, most),
        noise,
        unit,
        outside(image) if once else None,  # H does not see what was left out of the start
    )
    length = number(norm(ritz.Z))
    if length == 0:
        raise FloatingPointError("of a direction that it was given, the preconditioner leaves none")
    value = number(inner(ritz.Z, ritz.HZ)) / length**2
    error = number(norm(ritz.HZ - value * ritz.Z)) / length + ritz.noise
    known |= {
        "eigenvalue": value,
        "error": error,
        "direction": ritz.Z / length,
        "products": ritz.steps + (not once),
    }
    if ritz.value < -ritz.noise:
        text = f"The Hessian has an eigenvalue of at most {value:.3g}: f falls along `direction`."
        return Certificate(verdict=SADDLE, explanation=text, **known)
    bound = ritz.noise if ritz.exhausted else unseen(ritz.steps, dimension) * ritz.largest
    if not once:
        bound = math.nan  # the start is not Gaussian in the inner product of the preconditioner
    chance = f" With a chance of 99 % none is below -{bound:.2g}." if once else ""
    text = (
        f"No negative curvature was found; the smallest eigenvalue away from zero is {value:.3g}, "
        f"up to {error:.1g}.{chance}{explained} Other minima may be lower."
    )
    if ritz.residual > max(ACCURACY * ritz.largest, ritz.noise) or ritz.value <= ritz.noise:
        text = (
            f"The smallest eigenvalue found is {value:.3g}, up to {error:.1g}: its sign is not "
            f"certain.{explained}"
        )
        return Certificate(verdict=UNDECIDED, unseen=bound, explanation=text, **known)
    return Certificate(verdict=MINIMUM, unseen=bound, explanation=text, **known)
