"""The figures of the interfaces: to pymanopt, against its Stiefel manifold, and to PyTorch.

Both sides have the same problem and start. Run as `python benchmarks/interop.py`; `pytest`
on `benchmarks` asserts the same figures.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pymanopt
from _timing import Figure, Prepare, main, medians
from pymanopt.optimizers import ConjugateGradient, TrustRegions

import genorth as go
from genorth.interop.pymanopt import PymanoptManifold, to_pymanopt

Array = np.ndarray[Any, Any]
_ITERATIONS = 40


class Weighted:
    """f(X) = tr(X^T A X N)/2 with a diagonal N.

    A dense, or a diagonal whose products cost next to nothing.
    """

    def __init__(self, n: int, p: int, dense: bool) -> None:
        rng = np.random.default_rng(0)
        S = rng.standard_normal((n, n))
        self.A = (S + S.T) / 2 if dense else rng.uniform(1, 100, (n, 1))
        self.dense, self.N = dense, np.linspace(1, 2, p)
        self.points: list[bytes] | None = (
            None  # those at which the gradient was asked for, where they are of interest
        )

    def product(self, X: Array) -> Array:
        return ((self.A @ X) if self.dense else self.A * X) * self.N

    def cost(self, X: Array) -> float:
        return float(np.vdot(X, self.product(X))) / 2

    def gradient(self, X: Array) -> Array:
        if self.points is not None:
            self.points.append(X.tobytes())
        return self.product(X)

    def hessian(self, X: Array, Z: Array) -> Array:
        return self.product(Z)

    def ours(self, manifold: go.GenOrthManifold, retraction: str) -> Any:
        return to_pymanopt(
            go.Problem(manifold, self.cost, self.gradient, self.hessian), retraction, rng=0
        )

    def theirs(self, manifold: Any) -> Any:
        function = pymanopt.function.numpy(manifold)
        return pymanopt.Problem(
            manifold,
            function(self.cost),
            euclidean_gradient=function(self.gradient),
            euclidean_hessian=function(self.hessian),
        )


def _runs(problem: Any, start: Array) -> Prepare:
    """ConjugateGradient for a fixed number of iterations; every stop of its own is switched off."""
    settings = {
        "max_iterations": _ITERATIONS,
        "min_gradient_norm": 0,
        "min_step_size": 0,
        "verbosity": 0,
    }

    def prepare() -> Callable[[], object]:
        return partial(ConjugateGradient(**settings).run, problem, initial_point=start)

    return prepare


def conjugate_gradients(
    n: int, p: int, retractions: dict[tuple[str, str], float | None]
) -> list[Figure]:
    """Time per iteration over that on pymanopt's Stiefel manifold.

    The keys are pairs of (our, their) retraction.
    """
    manifold = go.Stiefel(n, p)
    start, figures = manifold.random_point(np.random.default_rng(1)), []
    for dense, (kinds, bound) in itertools.product((True, False), retractions.items()):
        problem = Weighted(n, p, dense)
        ours = problem.ours(manifold, kinds[0])
        theirs = problem.theirs(pymanopt.manifolds.Stiefel(n, p, retraction=kinds[1]))
        above, below = medians(_runs(ours, start), _runs(theirs, start), budget=4.0)
        case = f"CG, Stiefel ({n},{p}), {'dense' if dense else 'cheap'} f"
        what = f"{case}, {kinds[0]} / {kinds[1]}: per iteration"
        figures.append(Figure(what, above / below, bound))
    return figures


def gradients_of_trust_regions(n: int = 60, p: int = 4) -> list[Figure]:
    """How often TrustRegions has the Euclidean gradient evaluated where it was before.

    Some of its steps are rejected.
    """
    problem = Weighted(n, p, dense=True)
    counts: dict[str, tuple[int, int]] = {}
    for name, side in {
        "ours": problem.ours(go.Stiefel(n, p), "polar"),
        "pymanopt's": problem.theirs(pymanopt.manifolds.Stiefel(n, p, retraction="polar")),
    }.items():
        start = go.Stiefel(n, p).random_point(0)
        problem.points = []
        TrustRegions(verbosity=0).run(side, initial_point=start, Delta0=30.0, Delta_bar=500.0)
        counts[name] = (len(problem.points), len(set(problem.points)))
    (ours, distinct), (theirs, others) = counts["ours"], counts["pymanopt's"]
    return [
        Figure(f"TR, {distinct} points: gradients evaluated again", ours - distinct, 0, unit=""),
        Figure(
            f"TR, {others} points: gradients evaluated again, pymanopt's Stiefel",
            theirs - others,
            unit="",
        ),
    ]


def hessian_product(n: int = 1000, p: int = 20, bound: float = 0.6) -> list[Figure]:
    """One Riemannian Hessian product over that on pymanopt's Stiefel manifold.

    The Euclidean one is included.
    """
    figures, manifold = [], go.Stiefel(n, p)
    X = manifold.random_point(0)
    draw = np.random.default_rng(1)
    directions = itertools.cycle([manifold.random_tangent(X, draw) for _ in range(4)])
    for dense in (True, False):
        problem = Weighted(n, p, dense)
        sides = (
            problem.ours(manifold, "polar"),
            problem.theirs(pymanopt.manifolds.Stiefel(n, p, retraction="polar")),
        )
        first = [side.riemannian_hessian(X, manifold.random_tangent(X, 5)) for side in sides]
        assert np.linalg.norm(first[0] - first[1]) <= 1e-12 * n * np.linalg.norm(first[0])

        def products(side: Any) -> Prepare:
            return lambda: partial(side.riemannian_hessian, X, next(directions))

        above, below = medians(*map(products, sides), budget=3.0)
        figures.append(
            Figure(
                f"Hessian product, Stiefel ({n},{p}), {'dense' if dense else 'cheap'} f",
                above / below,
                bound,
            )
        )
    return figures


def _microseconds(
    calls: list[Callable[[], object]], rounds: int = 200, loops: int = 50
) -> list[float]:
    """The median time of each call, all of them in turn."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, mine in zip(calls, times, strict=True):
            begin = time.perf_counter()
            for _ in range(loops):
                call()
            mine.append((time.perf_counter() - begin) / loops)
    return [1e6 * statistics.median(mine) for mine in times]


def overhead(manifold: go.GenOrthManifold, bound: float = 3.0) -> list[Figure]:
    """Microseconds that each method of the wrapper adds to the method that it calls."""
    W = PymanoptManifold(manifold, "cayley", rng=0)
    X, Y = W.random_point(), W.random_point()
    Z, G = 0.1 * W.random_tangent_vector(X), manifold.random_ambient(1)
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "inner_product": (lambda: W.inner_product(X, Z, G), lambda: manifold.inner(Z, G)),
        "norm": (lambda: W.norm(X, Z), lambda: manifold.norm(Z)),
        "projection": (lambda: W.projection(X, G), lambda: manifold.project(X, G)),
        "gradient": (
            lambda: W.euclidean_to_riemannian_gradient(X, G),
            lambda: manifold.gradient(X, G),
        ),
        "hessian": (
            lambda: W.euclidean_to_riemannian_hessian(X, G, G, Z),
            lambda: manifold.hessian(X, G, G, Z),
        ),
        "retraction": (lambda: W.retraction(X, Z), lambda: manifold.retract(X, Z, "cayley")),
        "transport": (lambda: W.transport(X, Y, Z), lambda: manifold.project(Y, Z)),
    }
    figures = []
    for name, calls in pairs.items():
        ours, bare = _microseconds(list(calls))
        what = f"wrapper of {W}, {name}: over the bare method"
        figures.append(Figure(what, ours - bare, bound, unit="us"))
    return figures


_BATCH = 64  # rows of the input of a layer
_LARGEST = 4096  # n of an n x n matrix


def steps_of_optimisers(*shape: int) -> list[Figure]:
    """A training step of a layer, over that of the layer without a constraint, and |C| at its end.

    Forward, backward and update. POGO's own step is that of its authors; five products are those
    of its paper, X^T X, X^T G, G S, X R^T and Y S. geotorch and torch's orthogonal make n x n
    matrices, and are left out where those are too large.
    """
    import geoopt
    import geotorch
    import torch
    from pogo import POGO, base
    from torch.nn.utils.parametrizations import orthogonal

    from genorth.interop import torch as ours

    torch.set_num_threads(1)
    *stack, n, p = shape
    manifold = go.Stiefel(n, p)
    points = [manifold.random_point(seed) for seed in range(stack[0] if stack else 1)]
    start = torch.as_tensor(np.stack(points) if stack else points[0]).float()
    x = torch.randn(*stack, 4 if stack else _BATCH, n, generator=torch.Generator().manual_seed(0))

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(start.clone())

    def training(layer: Any, optimiser: Any) -> Callable[[], object]:
        def step() -> None:
            optimiser.zero_grad()
            (x @ layer.weight - 1).square().mean().backward()
            optimiser.step()

        return step

    def placed(make: Callable[..., Any]) -> tuple[Any, Any]:
        layer = ours.place(Layer(), "weight", manifold)
        return layer, make(layer.parameters())

    def published() -> tuple[Any, Any]:
        layer = Layer()
        if not stack:
            layer.weight = torch.nn.Parameter(start.clone()[None])
        return layer, POGO(layer.parameters(), base.SGD(), 0.1, rows=False)

    def geoopt_layer() -> tuple[Any, Any]:
        layer = Layer()
        layer.weight = geoopt.ManifoldParameter(start.clone(), geoopt.EuclideanStiefel())
        return layer, geoopt.optim.RiemannianSGD(layer.parameters(), lr=0.1)

    def parametrised(register: Callable[[Any], Any]) -> tuple[Any, Any]:
        layer = Layer()
        register(layer)
        return layer, torch.optim.SGD(layer.parameters(), lr=0.1)

    layers: dict[str, Callable[[], tuple[Any, Any]]] = {
        "Pogo": lambda: placed(lambda w: ours.Pogo(w, lr=0.1)),
        "Landing": lambda: placed(lambda w: ours.Landing(w, lr=0.1)),
        "Muon": lambda: placed(lambda w: ours.Muon(w, lr=0.01)),
        "RiemannianSGD": lambda: placed(lambda w: ours.RiemannianSGD(w, lr=0.1)),
        "SubspaceDescent, rank 4": lambda: placed(lambda w: ours.SubspaceDescent(w, 0.1, rank=4)),
        "published POGO": published,
        "geoopt's SGD": geoopt_layer,
        "geotorch": lambda: parametrised(lambda m: geotorch.orthogonal(m, "weight")),
        "torch's orthogonal": lambda: parametrised(orthogonal),
    }
    if n > _LARGEST:
        del layers["geotorch"], layers["torch's orthogonal"]
    plain = Layer()
    free = training(plain, torch.optim.SGD(plain.parameters(), lr=0.1))
    X, G = start, torch.randn(start.shape, generator=torch.Generator().manual_seed(1)) / n

    def products() -> None:
        S, R = X.mT @ X, X.mT @ G
        _ = G @ S, X @ R.mT, X @ S

    made = {name: make() for name, make in layers.items()}
    steps = {name: training(*pair) for name, pair in made.items()}
    for step in steps.values():
        step()
    alone = {name: made[name][1].step for name in ("Pogo", "published POGO")}
    many = {"budget": 4.0, "least": 3, "most": 60, "clock": time.process_time}
    *above, below = medians(*(partial(_same, step) for step in (*steps.values(), free)), **many)
    *bare, five = medians(*(partial(_same, step) for step in (*alone.values(), products)), **many)
    case, figures = f"({', '.join(map(str, shape))})", []
    for (name, (layer, _)), seconds in zip(made.items(), above, strict=True):
        W = layer.weight.detach().double()
        violation = torch.linalg.matrix_norm(W.mT @ W - torch.eye(p)).max().item()
        figures.append(Figure(f"{case}, {name}: a training step", seconds / below))
        figures.append(Figure(f"{case}, {name}: the largest |C|", violation, unit=""))
    for name, seconds in zip(alone, bare, strict=True):
        bound = 1.5 if name == "Pogo" else None
        figures.append(Figure(f"{case}, {name}: over five products", seconds / five, bound))
    return figures


def _same(call: Callable[[], object]) -> Callable[[], object]:
    return call


#: Each gives its figures. (cayley / qr: both sides' defaults; polar / polar: the same iterates, to
#: rounding.)
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "CG (200,8)": partial(
        conjugate_gradients, 200, 8, {("cayley", "qr"): 0.8, ("polar", "polar"): None}
    ),
    "CG (1000,20)": partial(
        conjugate_gradients, 1000, 20, {("cayley", "qr"): 0.8, ("polar", "polar"): 0.8}
    ),
    "steps (1024,1024)": partial(steps_of_optimisers, 1024, 1024),
    "steps (30000,50)": partial(steps_of_optimisers, 30000, 50),
    "steps 1000 of (16,4)": partial(steps_of_optimisers, 1000, 16, 4),
    "TR gradients": gradients_of_trust_regions,
    "Hessian product (1000,20)": hessian_product,
    "overhead, Stiefel": lambda: overhead(go.Stiefel(30, 3)),
    "overhead, hyperbolic": lambda: overhead(
        go.HyperbolicStiefel(np.where(np.arange(30) < 15, 1.0, -1.0), 3)
    ),
}


if __name__ == "__main__":
    sys.exit(main("interop", FIGURES))
