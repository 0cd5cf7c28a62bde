"""Weights of layers on a manifold: dissolved (`constrain`) or kept on it (`place`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import torch
from torch.nn.utils import parametrize

from genorth.errors import NotRestorableError, refuse, require
from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.fit import Fit, dissolving_maps, fit, restored_point
from genorth.interop.torch.base import LOW
from genorth.interop.torch.tags import Dissolved, Placed, TaggedParameter, local, tag_of, tagged
from genorth.penalty.base import check_beta

_NEAR = 0.5  # |C| of a matrix that a step of an optimiser leads back to M; the tube of `Landing`
_PRECISIONS = (torch.float32, torch.float64, torch.complex64, torch.complex128)


class DissolvedWeight(torch.nn.Module):  # type: ignore[misc]
    """The parametrisation X -> A(X), or X -> X - D(X), of one weight.

    It is its own right inverse on M, so that a weight assigned to the layer is restored to M.
    """

    def __init__(self, fit: Fit, kind: str, beta: float) -> None:
        super().__init__()
        self.fit, self.kind, self.beta = fit, kind, beta

    def extra_repr(self) -> str:
        """The manifold, the map and beta, for `print(model)`."""
        return f"{self.fit.manifold!r}, {self.kind}, beta={self.beta:g}"

    def forward(self, W: torch.Tensor) -> torch.Tensor:
        """The weight that the layer sees."""
        with torch.autocast(W.device.type, enabled=False):
            M, maps, X = self.fit.manifold, dissolving_maps(self.kind), self.fit.point(W)
            return self.fit.array(maps.corrected(M, X, maps.residual(M, X)))

    def right_inverse(self, W: torch.Tensor) -> torch.Tensor:
        """The weight, restored to M."""
        return restored(self.fit, W)

    def penalty(self, W: torch.Tensor) -> torch.Tensor:
        """beta/2 |C(X)|^2, or beta/2 |D(X)|^2."""
        with torch.autocast(W.device.type, enabled=False):
            M = self.fit.manifold
            R = dissolving_maps(self.kind).residual(M, self.fit.point(W))
            return self.beta / 2 * M.inner(R, R)


@attrs.frozen(eq=False)
class _Loaded:
    """After `load_state_dict` the weight keeps its tag, and a placed one far from M is restored.

    A copy of the module shares it, as a copy of the weight shares the tag.
    """

    name: str
    tag: Placed | Dissolved

    def __deepcopy__(self, _: Any) -> _Loaded:
        return self

    def __call__(self, module: torch.nn.Module, _: Any) -> None:
        W = getattr(module, self.name)
        if tag_of(W) is None:  # assign=True has put another parameter in its place
            W = tagged(W.data, self.tag, W.requires_grad)
            setattr(module, self.name, W)
        if isinstance(self.tag, Placed):
            _lead_back(self.tag.fit, self.name, W)

    def watch(self, module: torch.nn.Module) -> None:
        """Be told whenever the module is loaded, and of a placed weight, when it is used."""
        module.register_load_state_dict_post_hook(self)
        if isinstance(self.tag, Placed) and isinstance(getattr(module, self.name), TaggedParameter):
            module.register_forward_pre_hook(self._still)

    def _still(self, module: torch.nn.Module, _: Any) -> None:
        """Refuse a parameter that has taken the place of the weight, as `fully_shard` makes one."""
        if torch.compiler.is_compiling():
            return
        W = module._parameters.get(self.name)
        if isinstance(W, torch.nn.Parameter) and not isinstance(W, TaggedParameter):
            refuse(
                self.name,
                f"the parameter that was placed on {self.tag.fit.manifold!r}",
                f"another one, a {type(W).__name__} of shape {tuple(W.shape)}",
                None,
                "Call place(...) after fully_shard(...), and then make the optimiser.",
            )


def _lead_back(fit: Fit, name: str, W: torch.Tensor) -> None:
    """Restore a weight far from M; optimisers lead back those that are nearer."""
    with torch.no_grad():
        fit.manifold._require_finite(**{name: fit.point(local(W))})
        C = fit.manifold.constraint(_wide(fit, W))
        if float(torch.linalg.matrix_norm(C).max()) > _NEAR:
            local(W).copy_(restored(fit, local(W)))


def restored(fit: Fit, W: torch.Tensor) -> torch.Tensor:
    """W on M: computed in double precision and then rounded, so that only its rounding is left."""
    with torch.no_grad():
        X = restored_point(fit.manifold, _wide(fit, W))
        return fit.array(X).to(W.dtype).clone(memory_format=torch.contiguous_format)


def _weight(
    module: Any, name: Any, manifold: Any, transposed: bool | None, low: tuple[Any, ...] = ()
) -> tuple[Any, Fit]:
    """The parameter of a module and how it fits the manifold, checked."""
    require(
        isinstance(module, torch.nn.Module),
        "module",
        "a torch.nn.Module",
        f"a {type(module).__name__}",
    )
    require(
        not isinstance(name, str) or not parametrize.is_parametrized(module, name),
        name,
        "a weight without a parametrisation",
        "a weight that has one already",
        "Call finish(module) first.",
    )
    W = module._parameters.get(name) if isinstance(name, str) else None
    if W is None:
        known = ", ".join(map(repr, (key for key, _ in module.named_parameters(recurse=False))))
        refuse("name", f"a parameter of the module ({known or 'it has none'})", repr(name))
    if tag_of(W) is not None:
        refuse(
            name,
            "a weight that is on no manifold yet",
            f"a weight on {tag_of(W).fit.manifold!r}",  # type: ignore[union-attr]
            None,
            "Call finish(module) first.",
        )
    require(
        W.dtype in (*_PRECISIONS, *low),
        name,
        "entries of single or double precision, real or complex",
        f"dtype {W.dtype}",
        "Keep constrained weights in float32; autocast may run the rest in less.",
    )
    how = fit(manifold, _whole(W, manifold, name).shape, name, transposed)
    if W.is_complex() != (manifold.dtype.kind == "c"):
        entries = "complex" if manifold.dtype.kind == "c" else "real"
        refuse(name, f"{entries} entries, as {manifold!r} has", f"dtype {W.dtype}")
    return W, how


def _whole(W: torch.Tensor, manifold: Any, name: str) -> torch.Tensor:
    """What this process holds of a weight: all of each matrix, or an error."""
    counting = W.ndim - len(getattr(manifold, "shape", W.shape))
    for placement in getattr(W, "placements", ()):
        if not (placement.is_replicate() or (placement.is_shard() and placement.dim < counting)):
            refuse(
                name,
                "all rows of each matrix in one process, which the constraint couples",
                f"{placement} of a weight of shape {tuple(W.shape)}",
                None,
                "Leave it out of the sharding (ignored_params), or shard an axis in front.",
            )
    return local(W)


def _started(W: torch.Tensor, how: Fit, start: Any) -> torch.Tensor:
    """The first weight: `start`, or else W, on M."""
    if start is not None:
        X = torch.as_tensor(np.asarray(start) if not torch.is_tensor(start) else start)
        shapes = how.manifold.shape, how.shape
        require(
            tuple(X.shape) in shapes,
            "start",
            f"an array of shape {shapes[0]}",
            f"shape {tuple(X.shape)}",
        )
        X = X.detach().to(dtype=W.dtype, device=W.device)
        W = how.array(X) if tuple(X.shape) == shapes[0] else X
    try:
        return restored(how, W)
    except NotRestorableError as error:
        raise NotRestorableError(
            f"{error} Pass start=, a point of the manifold; random_point(rng) draws one."
        ) from None


def constrain(
    module: torch.nn.Module,
    name: str,
    manifold: GenOrthManifold,
    *,
    beta: float = 1.0,
    dissolving: str = "oblique",
    start: Any = None,
    transposed: bool | None = None,
) -> torch.nn.Module:
    """Dissolve the constraint of a weight: the layer sees a map of X that is X itself on M.

        oblique: A(X) = 3/2 X - 1/2 X phi(X)^T X, penalty beta/2 |C(X)|^2

        orthogonal: X - D(X), penalty beta/2 |D(X)|^2

    Then minimise loss + `penalty(model)` over X by any optimiser of PyTorch, and call `finish`. The
    weight is restored to M first, as is every weight that is assigned to the layer later.

    Args:
        module: The layer.
        name: The name of its parameter, such as "weight".
        manifold: The manifold. The weight may be a point, a transposed point, several of them
            along axes in front, or the kernel of a convolution.
        beta: Penalty parameter, beta > 0.
        dissolving: "oblique" or "orthogonal".
        start: The first point; random_point(rng) of a manifold draws one. Default: the weight.
        transposed: Whether the weight is a transposed point. Default: only if it has to be.

    Returns:
        The module.

    Raises:
        ValueError: If the weight does not fit the manifold, is on a manifold already or has less
            than single precision, or beta is not positive.
        NotRestorableError: If the weight is too far from M.
    """
    beta = check_beta(beta)
    dissolving_maps(dissolving)
    if isinstance(module, torch.nn.RNNBase):
        refuse(
            "module",
            "a layer that looks its weights up in every call",
            f"a {type(module).__name__}, which keeps a list of them",
            None,
            "Use place(...), or the cell (RNNCell, LSTMCell, GRUCell).",
        )
    W, how = _weight(module, name, manifold, transposed)
    tag = Dissolved(how)
    X = tagged(_started(W, how, start), tag, W.requires_grad)
    setattr(module, name, X)
    parametrize.register_parametrization(module, name, DissolvedWeight(how, dissolving, beta))
    _Loaded("original", tag).watch(module.parametrizations[name])
    return module


def place(
    module: torch.nn.Module,
    name: str,
    manifold: GenOrthManifold,
    *,
    start: Any = None,
    transposed: bool | None = None,
) -> torch.nn.Module:
    """Put a weight on a manifold, for `RiemannianSGD`, `Landing`, `Muon` and the others.

    The parameter is replaced by one with a tag that these optimisers look for, and that survives
    deepcopy, pickle and `load_state_dict`. So make the optimiser afterwards. A weight that is
    loaded is restored where |C| > 1/2; optimisers lead back what is nearer.

    A weight in bfloat16 or float16 is the rounding of a master in single precision, which the
    optimiser keeps and steps along. Call `place` after `fully_shard`, which makes new parameters;
    a parameter that takes the place of the weight later is refused in the next pass. A sharded
    weight has all of each matrix in one process, so only axes in front may be sharded.

    Args:
        module: The layer.
        name: The name of its parameter, such as "weight".
        manifold: The manifold, as in `constrain`.
        start: The first point; random_point(rng) of a manifold draws one. Default: the weight.
        transposed: Whether the weight is a transposed point. Default: only if it has to be.

    Returns:
        The module.

    Raises:
        ValueError: If the weight does not fit the manifold, is on a manifold already, is dissolved,
            or rows of one matrix are in several processes.
        NotRestorableError: If the weight is too far from M.
    """
    W, how = _weight(module, name, manifold, transposed, LOW)
    tag, X = Placed(how), _started(local(W), how, start)
    if local(W) is W:
        setattr(module, name, tagged(X, tag, W.requires_grad))
    else:  # the sharding keeps its own parameter
        W.tag = tag
        with torch.no_grad():
            local(W).copy_(X)
    _Loaded(name, tag).watch(module)
    return module


def _dissolved(model: Any) -> Iterator[tuple[torch.nn.Module, str, str, DissolvedWeight, Any]]:
    """Each dissolved weight: module, the name of the weight there and in the model, map, X."""
    require(
        isinstance(model, torch.nn.Module),
        "model",
        "a torch.nn.Module",
        f"a {type(model).__name__}",
    )
    for prefix, module in model.named_modules():
        if not parametrize.is_parametrized(module):
            continue
        for name, entry in module.parametrizations.items():
            if isinstance(entry[0], DissolvedWeight):
                path = f"{prefix}.{name}" if prefix else name
                yield module, name, path, entry[0], entry.original


def penalty(model: torch.nn.Module) -> torch.Tensor:
    """The penalty of all dissolved weights of a model, to be added to the loss.

        sum of beta/2 |C(X)|^2 (oblique) or beta/2 |D(X)|^2 (orthogonal)

    Args:
        model: The model.

    Returns:
        The penalty, a scalar.

    Raises:
        ValueError: If no weight of the model is dissolved.
    """
    terms = [weight.penalty(X) for _, _, _, weight, X in _dissolved(model)]
    require(terms, "model", "a weight that `constrain` has dissolved", "none")
    return sum(terms[1:], start=terms[0])


def feasibility(model: torch.nn.Module) -> dict[str, float]:
    """The violation of each weight that is on a manifold, as its layer sees it.

        |C(X)|

    Args:
        model: The model.

    Returns:
        |C(X)| in double precision, by the name of the weight.
    """
    with torch.no_grad():
        seen = [(path, weight.fit, weight(X)) for _, _, path, weight, X in _dissolved(model)]
        seen += [(path, tag.fit, W) for path, W, tag in _placed(model)]
        return {path: float(how.manifold.feasibility(_wide(how, W))) for path, how, W in seen}


def _wide(fit: Fit, W: torch.Tensor) -> torch.Tensor:
    """The point that a weight holds, in double precision."""
    return fit.point(local(W.detach()).to(torch.complex128 if W.is_complex() else torch.float64))


def finish(model: torch.nn.Module) -> torch.nn.Module:
    """Restore all weights to their manifolds; their layers are ordinary ones again.

    A dissolved weight ends at the point of M that repeated A (or Newton's map) leads to from what
    its layer sees. Its parametrisation is removed. The tag of a placed weight is removed too.

    Args:
        model: The model.

    Returns:
        The model.

    Raises:
        NotRestorableError: If a weight is too far from M; the model is unchanged then.
    """
    ends = [(*entry, restored(entry[3].fit, entry[3](entry[4]))) for entry in _dissolved(model)]
    placed = [(W, restored(tag.fit, local(W))) for _, W, tag in _placed(model)]
    for module, name, _, _, X, end in ends:
        parametrize.remove_parametrizations(module, name, leave_parametrized=False)
        _finished(X, end)
    for W, end in placed:
        _finished(W, end)
    for module in model.modules():
        for hooks in (module._load_state_dict_post_hooks, module._forward_pre_hooks):
            for key, hook in list(hooks.items()):
                if isinstance(getattr(hook, "__self__", hook), _Loaded):
                    del hooks[key]
    return model


def _placed(model: torch.nn.Module) -> Iterator[tuple[str, Any, Placed]]:
    """Each weight that is on a manifold, with its name in the model and its tag."""
    for path, W in model.named_parameters():
        if isinstance(tag := tag_of(W), Placed):
            yield path, W, tag


def _finished(W: Any, end: torch.Tensor) -> None:
    """W with its last value, on no manifold any more."""
    with torch.no_grad():
        local(W).copy_(end)
    W.tag = None
