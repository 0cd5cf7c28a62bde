"""Optimisers for weights on a manifold (`place`); all other parameters are updated as usual."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, final

import torch
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from genorth.errors import OutsideDomainError, refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.fit import check_retraction, landing_step, stepped
from genorth.interop.torch.tags import Dissolved, Placed, tag_of

_HALVINGS = 30  # of a step that is outside the domain of the retraction


class _Optimizer(torch.optim.Optimizer):  # type: ignore[misc]
    """Splits the parameters into those on a manifold and the others. Abstract."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; refuse dissolved weights, which are not on M."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        _check(group)
        for W in group["params"]:
            if isinstance(tag := tag_of(W), Dissolved):
                refuse(
                    "params",
                    "weights on a manifold (place), or on none",
                    f"a dissolved weight of {tag.fit.manifold!r}, which is not on the manifold",
                    None,
                    f"Use an optimiser of torch.optim for it, or place(...) and "
                    f"{type(self).__name__}.",
                )

    @final
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step for all parameters that have a gradient.

        Args:
            closure: Evaluates the loss again, as for every optimiser of PyTorch.

        Returns:
            The loss, if there is a closure.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                given = [W for W in group["params"] if W.grad is not None]
                self._usual(group, [W for W in given if tag_of(W) is None])
                for W in given:
                    if isinstance(tag := tag_of(W), Placed):
                        self._placed(group, W, tag)
        return loss

    @abstractmethod
    def _usual(self, group: dict[str, Any], params: list[torch.Tensor]) -> None:
        """Update parameters on no manifold, by PyTorch's own function."""

    @abstractmethod
    def _placed(self, group: dict[str, Any], W: torch.Tensor, tag: Placed) -> None:
        """Update one parameter on a manifold."""


class _Momentum(_Optimizer):
    """Momentum, by PyTorch's own function, for all parameters. Abstract."""

    def __init__(
        self,
        params: Any,
        own: dict[str, Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        """The settings of `torch.optim.SGD`, and the optimiser's own."""
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults | own)

    def _usual(self, group: dict[str, Any], params: list[torch.Tensor]) -> None:
        if not params:
            return
        buffers = [self.state[W].get("momentum_buffer") for W in params]
        sgd(params, [W.grad for W in params], buffers, **_settings(group))
        if group["momentum"] != 0:
            for W, buffer in zip(params, buffers, strict=True):
                self.state[W]["momentum_buffer"] = buffer

    def _direction(self, group: dict[str, Any], W: torch.Tensor, G: torch.Tensor) -> torch.Tensor:
        """The step that SGD with momentum would take in a linear space."""
        Z, buffers = torch.zeros_like(G), [self.state[W].get("momentum_buffer")]
        sgd([Z], [G], buffers, **_settings(group, weight_decay=0.0, maximize=False))
        if group["momentum"] != 0:
            self.state[W]["momentum_buffer"] = buffers[0]
        return Z


@final
class RiemannianSGD(_Momentum):
    """Stochastic gradient descent on M, with momentum.

        X <- R_X(-lr V), V <- momentum P_X(V) + (1 - dampening) grad f(X)

    The momentum is transported by projection. A step outside the domain of the retraction is
    halved. Parameters on no manifold are updated as by `torch.optim.SGD`.

    Args:
        params: Parameters, or groups of them. Those that `place` has tagged stay on their manifold.
        *settings: lr, momentum, dampening, weight_decay and nesterov, as `torch.optim.SGD` takes
            them, by position or by name; weight_decay is the factor of |X|^2/2 in the loss.
        retraction: "cayley", "polar", "exp" or "normal".
        **more: The same by name, and maximize.

    Raises:
        ValueError: If an argument is negative, the retraction is unknown, or a parameter is
            dissolved.
    """

    def __init__(
        self, params: Any, *settings: Any, retraction: str = "cayley", **more: Any
    ) -> None:
        super().__init__(params, {"retraction": retraction}, *settings, **more)

    def _placed(self, group: dict[str, Any], W: torch.Tensor, tag: Placed) -> None:
        M, X = tag.fit.manifold, tag.fit.point(W)
        Z = self._direction(group, W, M.gradient(X, tag.fit.point(_gradient(group, W))))
        Y = _moved(M, X, Z, group["retraction"])
        if group["momentum"] != 0:
            self.state[W]["momentum_buffer"] = M.project(Y, self.state[W]["momentum_buffer"])
        W.copy_(tag.fit.array(Y))


@final
class RiemannianAdam(_Optimizer):
    """Adam on M [becigneul2019riemannian], with one second moment for each matrix.

        X <- R_X(P_X(-lr M/(V^(1/2) + eps))), V <- b2 V + (1 - b2) |grad f(X)|^2/(np)

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
        retraction: "cayley", "polar", "exp" or "normal".

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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "retraction": retraction,
        }
        super().__init__(params, defaults)

    def _moments(self, W: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> Any:
        """The state of a parameter, made in its first step."""
        state = self.state[W]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(first)
            state["exp_avg_sq"] = torch.zeros_like(second)
        return state

    def _usual(self, group: dict[str, Any], params: list[torch.Tensor]) -> None:
        if not params:
            return
        states = [self._moments(W, W, W) for W in params]
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

    def _placed(self, group: dict[str, Any], W: torch.Tensor, tag: Placed) -> None:
        M, X, (b1, b2) = tag.fit.manifold, tag.fit.point(W), group["betas"]
        G = M.gradient(X, tag.fit.point(_gradient(group, W)))
        square = G.abs().square().mean(dim=(-2, -1), keepdim=True)
        state = self._moments(W, G, square)
        state["step"] += 1
        first = state["exp_avg"].lerp_(G, 1 - b1)
        second = state["exp_avg_sq"].lerp_(square, 1 - b2)
        count = float(state["step"])
        root = (second / (1 - b2**count)).sqrt() + group["eps"]
        Y = _moved(M, X, -(group["lr"] / (1 - b1**count)) * (first / root), group["retraction"])
        state["exp_avg"] = M.project(Y, first)
        W.copy_(tag.fit.array(Y))


@final
class Landing(_Momentum):
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

    def _placed(self, group: dict[str, Any], W: torch.Tensor, tag: Placed) -> None:
        X, lr = tag.fit.point(W), float(group["lr"])
        G = -self._direction({**group, "lr": 1.0}, W, tag.fit.point(_gradient(group, W)))
        step = landing_step(tag.field, X, G, lr, group["attraction"], group["tube"])
        W.copy_(tag.fit.array(X + step))


def _moved(M: GenOrthManifold, X: torch.Tensor, Z: torch.Tensor, kind: str) -> torch.Tensor:
    """The point after a step, which is halved until it is inside the domain of the retraction."""
    Z = M.project(X, Z)
    for _ in range(_HALVINGS):
        try:
            return stepped(M, X, Z, kind)
        except OutsideDomainError:
            Z = Z / 2
    return X.clone()


def _gradient(group: dict[str, Any], W: torch.Tensor) -> torch.Tensor:
    """The Euclidean gradient, with the one of weight decay."""
    G = -W.grad if group["maximize"] else W.grad
    return G + group["weight_decay"] * W if group["weight_decay"] else G


def _settings(group: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """What PyTorch's `sgd` takes."""
    names = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
    return {name: group[name] for name in names} | changed


#: What a setting of a group must be, and how to see that it is not.
_NONNEGATIVE = ("lr", "momentum", "dampening", "weight_decay", "eps", "attraction")


def _check(group: dict[str, Any]) -> None:
    """Refuse settings out of range."""
    for name in _NONNEGATIVE:
        if name in group and not group[name] >= 0:
            refuse(name, f"{name} >= 0", repr(group[name]))
    if "tube" in group and not group["tube"] > 0:
        refuse("tube", "tube > 0", repr(group["tube"]))
    if "betas" in group and not all(0 <= b < 1 for b in group["betas"]):
        refuse("betas", "two numbers in [0, 1)", repr(group["betas"]))
    if group.get("nesterov") and (group["momentum"] <= 0 or group["dampening"] != 0):
        refuse(
            "nesterov",
            "momentum > 0 and dampening = 0 with it",
            f"momentum {group['momentum']}, dampening {group['dampening']}",
        )
    if "retraction" in group:
        check_retraction(group["retraction"])
