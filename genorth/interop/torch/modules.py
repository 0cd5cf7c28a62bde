"""Layers that are made of points: low-rank adapters, coordinates, Hamiltonian steps."""

from __future__ import annotations

import math
from typing import Any, final

import torch
from torch.nn.utils import parametrize

from genorth.errors import refuse, require
from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.torch.layers import place
from genorth.linalg.inputs import as_generator
from genorth.manifolds.stiefel import Stiefel


@final
class LowRank(torch.nn.Module):  # type: ignore[misc]
    """The parametrisation W -> W + scale U S V^T, U and V with orthonormal columns."""

    def __init__(self, W: torch.Tensor, rank: int, scale: float, rng: Any) -> None:
        super().__init__()
        self.scale, rng = scale, as_generator(rng)
        for name, rows in (("U", W.shape[0]), ("V", math.prod(W.shape[1:]))):
            manifold = Stiefel(rows, rank)
            start = torch.as_tensor(manifold.random_point(rng)).to(W)
            self.register_parameter(name, torch.nn.Parameter(start))
            place(self, name, manifold)
        self.S = torch.nn.Parameter(W.new_zeros(rank, rank))

    def forward(self, W: torch.Tensor) -> torch.Tensor:
        """The adapted weight."""
        return W + (self.scale * (self.U @ self.S @ self.V.mT)).reshape(W.shape)


def adapt(
    module: torch.nn.Module, name: str, rank: int, *, scale: float = 1.0, rng: Any = None
) -> torch.nn.Module:
    """Freeze a weight and train a correction of low rank, as StelLA does [li2025stella].

        W + scale U S V^T, U^T U = I, V^T V = I

    U and V are placed on Stiefel manifolds, for the optimisers of this module; S is free and starts
    at zero. A kernel (out, in, k, k) is treated as a matrix. `merge` adds the correction to W.

    Args:
        module: The layer.
        name: The name of its parameter, such as "weight".
        rank: The number of columns of U and V.
        scale: The factor of the correction.
        rng: A seed or a NumPy Generator, for U and V.

    Returns:
        The module.

    Raises:
        ValueError: If the module has no such parameter of real entries, or the rank does not fit.
    """
    W = module._parameters.get(name) if isinstance(name, str) else None
    if W is None or W.ndim < 2 or W.is_complex():
        refuse("name", "a real matrix or kernel among the parameters of the module", repr(name))
    most = min(W.shape[0], math.prod(W.shape[1:]))
    require(1 <= rank <= most, "rank", f"1 <= rank <= {most}", repr(rank))
    parametrize.register_parametrization(module, name, LowRank(W, rank, scale, rng))
    W.requires_grad_(False)
    return module


def merge(model: torch.nn.Module) -> torch.nn.Module:
    """Add the corrections of `adapt` to their weights, which are ordinary and trainable again.

    Args:
        model: The model.

    Returns:
        The model.
    """
    for module in list(model.modules()):
        for name, entry in list(getattr(module, "parametrizations", {}).items()):
            if isinstance(entry[0], LowRank):
                parametrize.remove_parametrizations(module, name, leave_parametrized=True)
                module._parameters[name].requires_grad_(True)
    return model


@final
class Coordinates(torch.nn.Module):  # type: ignore[misc]
    """Encoder and decoder with one weight X on M.

        encode(z) = phi(X)^T z, decode(y) = X y

    So encode(decode(y)) = y, as phi(X)^T X = I. On the symplectic manifold the encoder is the
    symplectic inverse of X, and both are symplectic maps; on the Stiefel manifold it is X^T.

    Args:
        manifold: The manifold.
        start: The first X. Default: a random point.
        rng: A seed or a NumPy Generator, for the random point.
    """

    def __init__(self, manifold: GenOrthManifold, start: Any = None, rng: Any = None) -> None:
        super().__init__()
        self.manifold = manifold
        start = manifold.random_point(rng) if start is None else start
        weight = torch.as_tensor(start)
        kind = torch.get_default_dtype()
        self.weight = torch.nn.Parameter(
            weight.to(kind.to_complex() if weight.is_complex() else kind)
        )
        place(self, "weight", manifold)

    def encode(self, z: torch.Tensor) -> torch.Tensor:
        """The coordinates of z, of shape (..., n)."""
        return z @ self.manifold.phi(self.weight).conj()

    def decode(self, y: torch.Tensor) -> torch.Tensor:
        """The point with coordinates y, of shape (..., p)."""
        return y @ self.weight.mT

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """decode(encode(z)), the projection onto the range of X that the form gives."""
        return self.decode(self.encode(z))


@final
class HamiltonianStep(torch.nn.Module):  # type: ignore[misc]
    """A symplectic map of (q, p): a step of length h for H = T(p) + V(q), with learned T and V.

        q <- q + h grad T(p), p <- p - h grad V(q), grad V(q) = K^T (a * tanh(K q + b))

    Its derivative D satisfies D^T J D = J for all weights, J = [[0, I], [-I, 0]].

    Args:
        size: The length 2n of (q, p).
        width: The number of rows of K.
        h: The length of the step.
    """

    def __init__(self, size: int, width: int, h: float = 0.1) -> None:
        super().__init__()
        require(size % 2 == 0 and size > 0, "size", "an even size of (q, p)", repr(size))
        self.h = h
        self.K = torch.nn.Parameter(torch.randn(2, width, size // 2) * (2 / size) ** 0.5)
        self.a = torch.nn.Parameter(torch.randn(2, width) * width**-0.5)
        self.b = torch.nn.Parameter(torch.zeros(2, width))

    def _gradient(self, which: int, x: torch.Tensor) -> torch.Tensor:
        return (self.a[which] * torch.tanh(x @ self.K[which].mT + self.b[which])) @ self.K[which]

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """The next (q, p), of shape (..., 2n)."""
        q, p = z.chunk(2, dim=-1)
        q = q + self.h * self._gradient(0, p)
        return torch.cat([q, p - self.h * self._gradient(1, q)], dim=-1)
