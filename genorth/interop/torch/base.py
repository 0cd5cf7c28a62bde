"""What all optimisers share: groups, stacks of equal weights, masters, momentum, clipping."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, final

import attrs
import torch
from torch.optim.sgd import sgd

from genorth.errors import refuse, require
from genorth.geometry.field import Field
from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.steps import check_retraction, subspace_of
from genorth.interop.torch.tags import Dissolved, Placed, local, tag_of

Tensor: TypeAlias = torch.Tensor
Group: TypeAlias = dict[str, Any]
#: Types of weights whose points the optimiser keeps in single precision.
LOW = (torch.bfloat16, torch.float16)


@attrs.frozen(eq=False)
class At:
    """Where a step starts: one weight, or several of one kind, which are stacked."""

    tag: Placed
    #: What the optimiser keeps of each weight.
    states: Sequence[dict[str, Any]]
    #: The point, and the Euclidean gradient of the loss with weight decay.
    X: Tensor
    G: Tensor

    @property
    def manifold(self) -> GenOrthManifold:
        """The manifold of X."""
        return self.tag.fit.manifold

    @property
    def field(self) -> Field:
        """The tangent field of landing methods."""
        return self.tag.field

    def kept(self, name: str, initial: Tensor) -> Tensor:
        """A tensor of the states, `initial` in the first step. It may be changed in place."""
        if name not in self.states[0]:
            return initial.clone()
        V = _stack([state[name] for state in self.states])
        return self.tag.fit.point(V) if initial.shape == self.X.shape else V

    def keep(self, name: str, V: Tensor) -> None:
        """Keep a tensor, in the shape of the weight if it has that of X."""
        V = self.tag.fit.array(V) if V.shape == self.X.shape else V
        parts = V.unbind(0) if len(self.states) > 1 else [V]
        for state, part in zip(self.states, parts, strict=True):
            state[name] = part

    def averaged(self, group: Group, G: Tensor) -> Tensor:
        """The momentum of the gradients, as `torch.optim.SGD` has it."""
        m = group["momentum"]
        if m == 0:
            return G
        first = "momentum_buffer" not in self.states[0]
        V = self.kept("momentum_buffer", G)
        if not first:
            V.mul_(m).add_(G, alpha=1 - group["dampening"])
        self.keep("momentum_buffer", V)
        return G + m * V if group["nesterov"] else V


def _stack(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(tensors)) if len(tensors) > 1 else tensors[0]


class Optimizer(torch.optim.Optimizer):  # type: ignore[misc]
    """Splits the parameters into those on a manifold and the others. Abstract.

    Weights with equal manifolds, shapes and types are updated by one call. For a weight of less
    than single precision the state has a master in single precision; the weight is its rounding.
    """

    def add_param_group(self, param_group: Group) -> None:
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
            if group.get("rank") is not None and isinstance(tag, Placed):
                subspace_of(tag.fit.manifold, group["rank"])

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As PyTorch's, which would round masters to the type of their weights."""
        super().load_state_dict(state_dict)
        names = [i for group in state_dict["param_groups"] for i in group["params"]]
        weights = [W for group in self.param_groups for W in group["params"]]
        for name, W in zip(names, weights, strict=True):
            saved = state_dict["state"].get(name, {})
            if "master" in saved:
                for key, value in saved.items():
                    copied = torch.is_tensor(value)
                    self.state[W][key] = value.clone().to(W.device) if copied else value

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
                for tag, weights in self._alike(given):
                    self._update(group, tag, weights)
        return loss

    def _alike(self, weights: list[Tensor]) -> Iterable[tuple[Placed, list[Tensor]]]:
        """The weights that are updated together, with the tag of each stack."""
        kinds: dict[Any, list[Tensor]] = {}
        for W in weights:
            if isinstance(tag := tag_of(W), Placed):
                state = self.state[W]
                kind = tag.kind, W.dtype, W.device, frozenset(state), int(state.get("step", 0))
                kinds.setdefault(kind, []).append(W)
        return [(tag_of(alike[0]), alike) for alike in kinds.values()]  # type: ignore[misc]

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _update(self, group: Group, tag: Placed, weights: list[Tensor]) -> None:
        """One step for weights that are alike; a compiled step calls it as it is."""
        masters = [self._master(W) for W in weights]
        tag, states = tag.stacked(len(weights)), [self.state[W] for W in weights]
        X = tag.fit.point(_stack(masters))
        G = tag.fit.point(_stack([local(W.grad) for W in weights])).to(X.dtype)
        G = -G if group["maximize"] else G
        G = G + group["weight_decay"] * X if group["weight_decay"] else G
        end = tag.fit.array(self._end(group, At(tag, states, X, G)))
        if len(weights) > 1:
            torch._foreach_copy_(masters, list(end.unbind(0)))
        else:
            masters[0].copy_(end)
        for W, master in zip(weights, masters, strict=True):
            if W.dtype in LOW:
                local(W).copy_(master)

    def _master(self, W: Tensor) -> Tensor:
        """The weight, or what it is the rounding of; made anew where the weight was changed."""
        if W.dtype not in LOW:
            return local(W)
        here, state = local(W), self.state[W]
        if "master" not in state or not torch.equal(state["master"].to(W.dtype), here):
            tag = tag_of(W)
            assert tag is not None
            X = tag.fit.manifold.restore(tag.fit.point(here.double()))
            state["master"] = tag.fit.array(X).float().contiguous()
        master: Tensor = state["master"]
        return master

    @abstractmethod
    def _usual(self, group: Group, params: list[Tensor]) -> None:
        """Update parameters on no manifold, by PyTorch's own function."""

    @abstractmethod
    def _end(self, group: Group, at: At) -> Tensor:
        """The point at which a step ends."""


class Momentum(Optimizer):
    """With the settings of `torch.optim.SGD`, whose step the other parameters take. Abstract."""

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

    @final
    def _usual(self, group: Group, params: list[Tensor]) -> None:
        if not params:
            return
        buffers = [self.state[W].get("momentum_buffer") for W in params]
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
        settings = {name: group[name] for name in names}
        sgd(params, [W.grad for W in params], buffers, **settings)
        if group["momentum"] != 0:
            for W, buffer in zip(params, buffers, strict=True):
                self.state[W]["momentum_buffer"] = buffer


def clip_grad_norm_(parameters: Any, max_norm: float) -> Tensor:
    """Scale all gradients so that their Riemannian norm is at most `max_norm`.

        (sum |P_X(G)|^2 + sum |G|^2)^(1/2)

    The first sum is over weights that `place` has tagged, the second over all others. The part of G
    that is normal to M, which no step follows, does not count.

    Args:
        parameters: The parameters, as model.parameters() gives them.
        max_norm: The largest norm.

    Returns:
        The norm before.

    Raises:
        ValueError: If max_norm is not positive.
    """
    require(max_norm > 0, "max_norm", "max_norm > 0", repr(max_norm))
    given = [W for W in parameters if W.grad is not None]
    with torch.no_grad():
        norms = []
        for W in given:
            G, tag = local(W.grad), tag_of(W)
            if isinstance(tag, Placed):
                X = tag.fit.point(local(W))
                G = tag.fit.manifold.gradient(X, tag.fit.point(G))
            norms.append(torch.linalg.vector_norm(G))
        total = torch.linalg.vector_norm(torch.stack(norms)) if norms else torch.zeros(())
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for W in given:
            local(W.grad).mul_(factor)
    return total


#: What a setting of a group must be, and how to see that it is not.
_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **{
        name: (f"{name} >= 0", lambda value: value >= 0)
        for name in ("lr", "momentum", "dampening", "weight_decay", "eps", "attraction")
    },
    "steps": ("steps >= 1, or None", lambda value: value is None or value >= 1),
    "tube": ("tube > 0", lambda value: value > 0),
    "betas": ("two numbers in [0, 1)", lambda value: all(0 <= b < 1 for b in value)),
}


def _check(group: Group) -> None:
    """Refuse settings out of range."""
    for name in _RULES.keys() & group.keys():
        need, holds = _RULES[name]
        require(holds(group[name]), name, need, repr(group[name]))
    require(
        not group.get("nesterov") or (group["momentum"] > 0 and group["dampening"] == 0),
        "nesterov",
        "momentum > 0 and dampening = 0 with it",
        f"momentum {group.get('momentum')}, dampening {group.get('dampening')}",
    )
    check_retraction(group.get("retraction", "auto"))
