"""Optimisers for weights on a manifold (`place`); all other parameters are updated as usual."""

from __future__ import annotations

from typing import Any, final

import torch
from torch.optim.adam import adam

from genorth.errors import OutsideDomainError
from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.steps import (
    landing_step,
    muon_direction,
    pogo_step,
    stepped,
    subspace_of,
    subspace_step,
)
from genorth.interop.torch.base import At, Group, Momentum, Optimizer, Tensor

_REFRESH = 32  # steps in a submanifold, until A leads their rounding back
_HALVINGS = 30  # of a step that is outside the domain of the retraction


@final
class RiemannianSGD(Momentum):
    """Stochastic gradient descent on M, with momentum.

        X <- R_X(-lr V), V <- momentum P_X(V) + (1 - dampening) grad f(X)

    The momentum is transported by projection. A step outside the domain of the retraction is
    halved. Parameters on no manifold are updated as by `torch.optim.SGD`.

    Args:
        params: Parameters, or groups of them. Those that `place` has tagged stay on their manifold.
        *settings: lr, momentum, dampening, weight_decay and nesterov, as `torch.optim.SGD` takes
            them, by position or by name; weight_decay is the factor of |X|^2/2 in the loss.
        retraction: "cayley", "polar", "exp", "normal" or "auto".
        **more: The same by name, and maximize.

    Raises:
        ValueError: If an argument is negative, the retraction is unknown, or a parameter is
            dissolved.
    """

    def __init__(
        self, params: Any, *settings: Any, retraction: str = "cayley", **more: Any
    ) -> None:
        super().__init__(params, {"retraction": retraction}, *settings, **more)

    def _end(self, group: Group, at: At) -> Tensor:
        M, X = at.manifold, at.X
        Z = V = M.project(X, at.averaged(group, at.G))
        if group["momentum"] != 0:
            if group["nesterov"]:
                V = M.project(X, at.kept("momentum_buffer", at.G))
            at.keep("momentum_buffer", V)
        return _moved(M, X, -group["lr"] * Z, group["retraction"])


@final
class Landing(Momentum):
    """The landing method [ablin2022fast]: no retraction, products only.

        X <- X - t (F(X) + attraction grad N(X)), N = |C|^2/4, t <= lr

    F is tangent to the level set of C through X, so that the iterates approach M, and `finish`
    restores the last one. The momentum is that of the Euclidean gradient. The step t is lr, halved
    for each matrix until |C| is within the tube. Parameters on no manifold are updated as by
    `torch.optim.SGD`.

    Args:
        params: Parameters, or groups of them. Those that `place` has tagged approach their
            manifold.
        *settings: lr, momentum, dampening, weight_decay and nesterov, as `torch.optim.SGD` takes
            them, by position or by name; weight_decay is the factor of |X|^2/2 in the loss.
        attraction: The weight of the normal step.
        tube: The largest |C| of an iterate.
        **more: The settings by name, and maximize.

    Raises:
        ValueError: If an argument is negative, or a parameter is dissolved.
    """

    def __init__(
        self,
        params: Any,
        *settings: Any,
        attraction: float = 1.0,
        tube: float = 0.5,
        **more: Any,
    ) -> None:
        super().__init__(params, {"attraction": attraction, "tube": tube}, *settings, **more)

    def _end(self, group: Group, at: At) -> Tensor:
        V = at.averaged(group, at.G)
        return landing_step(at.field, at.X, V, group["lr"], group["attraction"], group["tube"])


@final
class Pogo(Momentum):
    """POGO [javaloy2026embarrassingly] for every phi: a tangent step of landing, then one of A.

        Y = X - t F(X), X <- Y - attraction Y C(Y)^T, t <= lr

    Products only. C(Y) = C(X) + t^2 F^T phi(F), and for attraction 1/2 the second step squares it,
    so that |C| <= 3/4 tube^2 + tube^3/4 from the second iterate on, and of order t^4 in general. F
    and the momentum are those of `Landing`, which see for the parameters on no manifold.

    Args:
        params: Parameters, or groups of them. Those that `place` has tagged stay next to their
            manifold.
        *settings: lr, momentum, dampening, weight_decay and nesterov, as `torch.optim.SGD` takes
            them, by position or by name; weight_decay is the factor of |X|^2/2 in the loss.
        attraction: The weight of the normal step; 1/2 is that of A.
        tube: The largest |C(Y)|; a longer step ends there.
        **more: The settings by name, and maximize.

    Raises:
        ValueError: If an argument is negative, or a parameter is dissolved.
    """

    def __init__(
        self,
        params: Any,
        *settings: Any,
        attraction: float = 0.5,
        tube: float = 0.5,
        **more: Any,
    ) -> None:
        super().__init__(params, {"attraction": attraction, "tube": tube}, *settings, **more)

    def _end(self, group: Group, at: At) -> Tensor:
        V = at.averaged(group, at.G)
        return pogo_step(at.field, at.X, V, group["lr"], group["attraction"], group["tube"])


@final
class Muon(Momentum):
    """A step like Muon's [jordan2024muon] on M, for every phi (F28).

        X <- R_X(-lr msign(P_X(V)))

    msign(G) = G (G^T G)^(-1/2), by Newton-Schulz; zero for a zero gradient. V is the momentum of
    the Euclidean gradient. With `retraction="normal"` and `steps=None` it is SPEL
    [yang2026manifold] on the Stiefel manifold. A step outside the domain of the retraction is
    halved. Parameters on no manifold are updated as by `torch.optim.SGD`; a group for them has its
    own lr, or another optimiser does.

    Args:
        params: Parameters, or groups of them. Those that `place` has tagged stay on their manifold.
        lr: The step size, about the spectral norm of a step.
        momentum: The factor of the momentum.
        *settings: dampening, weight_decay and nesterov, as for `RiemannianSGD`.
        steps: Steps of Newton-Schulz; None for the exact polar factor.
        retraction: "cayley", "polar", "exp", "normal" or "auto".
        **more: The settings by name, and maximize.

    Raises:
        ValueError: If an argument is out of range, the retraction is unknown, or a parameter is
            dissolved.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.02,
        momentum: float = 0.95,
        *settings: Any,
        steps: int | None = 5,
        retraction: str = "cayley",
        **more: Any,
    ) -> None:
        own = {"steps": steps, "retraction": retraction}
        super().__init__(params, own, lr, momentum, *settings, **more)

    def _end(self, group: Group, at: At) -> Tensor:
        M, X, kind = at.manifold, at.X, group["retraction"]
        Z = muon_direction(M, X, at.averaged(group, at.G), group["steps"], kind)
        return _moved(M, X, -group["lr"] * Z, kind)


@final
class SubspaceDescent(Momentum):
    """Gradient steps in random submanifolds [han2025efficient], for every phi with a known form A.

        X <- U X, U = Cayley(lr B K B^T A), K = -skew(B^T V (B^T A X)^T)

    B is n x r with random orthonormal columns, anew in every step; U is the identity on what is
    orthogonal to them. The cost is O(n p r + n r^2), without any decomposition of the size of X. V
    is the momentum of the Euclidean gradient. The draws depend on the seed and the number of the
    step alone, so that training can be resumed and copies of a model agree. Every 32nd step A leads
    the rounding back. Parameters on no manifold are updated as by `torch.optim.SGD`.

    Args:
        params: Parameters, or groups of them. Those that `place` has tagged stay on their manifold.
        *settings: lr, momentum, dampening, weight_decay and nesterov, as for `RiemannianSGD`.
        rank: The number r <= n of columns; p where only phi and psi are known. Default: p.
        seed: The seed of the draws.
        **more: The settings by name, and maximize.

    Raises:
        ValueError: If an argument is out of range, or a parameter is dissolved.
    """

    def __init__(
        self, params: Any, *settings: Any, rank: int | None = None, seed: int = 0, **more: Any
    ) -> None:
        super().__init__(params, {"rank": rank, "seed": seed}, *settings, **more)

    def _end(self, group: Group, at: At) -> Tensor:
        M, X, rank, first = at.manifold, at.X, group["rank"], at.states[0]
        stream = first.setdefault("stream", len(self.state))
        count = 1 + first.get("step", 0)
        for state in at.states:
            state["step"] = count
        generator = torch.Generator(X.device)
        generator.manual_seed(hash((group["seed"], stream, count)))
        shape = subspace_of(M, M.shape[-1] if rank is None else rank)
        B = torch.randn(shape, generator=generator, dtype=X.dtype, device=X.device)
        Y = subspace_step(M, X, at.averaged(group, at.G), group["lr"], B)
        return M.dissolve(Y) if count % _REFRESH == 0 else Y


@final
class RiemannianAdam(Optimizer):
    """Adam on M [becigneul2019riemannian], with one second moment for each matrix.

        X <- R_X(-lr M/(V^(1/2) + eps)), V <- b2 V + (1 - b2) |grad f(X)|^2/(np)

    M is the usual first moment of grad f(X), transported by projection. One V for all entries of a
    matrix makes the step independent of the basis, and the mean instead of the sum makes lr mean
    what it means for the other parameters, which are updated as by `torch.optim.Adam`.

    Args:
        params: Parameters, or groups of them. Those that `place` has tagged stay on their manifold.
        lr: Step size.
        betas: The factors b1 and b2 of the moments.
        eps: Added to the root of the second moment.
        weight_decay: The factor of |X|^2/2 in the loss.
        maximize: Whether to maximise.
        retraction: "cayley", "polar", "exp", "normal" or "auto".

    Raises:
        ValueError: If an argument is out of range, the retraction is unknown, or a parameter is
            dissolved.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        retraction: str = "cayley",
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "retraction": retraction,
            },
        )

    def _usual(self, group: Group, params: list[Tensor]) -> None:
        if not params:
            return
        for W in params:
            if not self.state[W]:
                zeros = {name: torch.zeros_like(W) for name in ("exp_avg", "exp_avg_sq")}
                self.state[W].update(step=torch.tensor(0.0), **zeros)
        states = [self.state[W] for W in params]
        adam(
            params,
            [W.grad for W in params],
            *([state[key] for state in states] for key in ("exp_avg", "exp_avg_sq")),
            [],
            [state["step"] for state in states],
            amsgrad=False,
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
            has_complex=any(W.is_complex() for W in params),
        )

    def _end(self, group: Group, at: At) -> Tensor:
        M, X, (b1, b2) = at.manifold, at.X, group["betas"]
        G = M.gradient(X, at.G)
        square = G.abs().square().mean(dim=(-2, -1), keepdim=True)
        count = 1.0 + float(at.states[0].get("step", 0.0))
        for state in at.states:
            state["step"] = torch.tensor(count)
        first = M.project(X, at.kept("exp_avg", 0 * G)).lerp_(G, 1 - b1)
        second = at.kept("exp_avg_sq", 0 * square).lerp_(square, 1 - b2)
        root = (second / (1 - b2**count)).sqrt() + group["eps"]
        at.keep("exp_avg", first)
        at.keep("exp_avg_sq", second)
        return _moved(M, X, -(group["lr"] / (1 - b1**count)) * (first / root), group["retraction"])


def _moved(M: GenOrthManifold, X: Tensor, Z: Tensor, kind: str) -> Tensor:
    """The point after a step, which is halved until it is inside the domain of the retraction."""
    for _ in range(_HALVINGS):
        try:
            return stepped(M, X, Z, kind)
        except OutsideDomainError:
            Z = Z / 2
    return X.clone()
