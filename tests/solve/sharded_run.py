"""A run of solvers with rows sharded over devices and processes, for test_sharded.py.

    python sharded_run.py RANK PROCESSES PORT OUT

Rank 0 writes to OUT, as JSON, how far the iterates and results are from NumPy's, and what the
compiled programs of the gradient and the retraction contain.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

import genorth as go
import genorth.geometry.newton
from genorth.geometry import place as places
from genorth.geometry import retractions
from genorth.geometry.retractions import Cayley
from genorth.linalg.compiled import program

RANK, PROCESSES, PORT = map(int, sys.argv[1:4])
jax.config.update("jax_enable_x64", True)
if PROCESSES > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{PORT}", PROCESSES, RANK)

MESH = Mesh(np.array(jax.devices()), ("rows",))
ROWS = NamedSharding(MESH, Spec("rows"))
N, P, ITERATIONS = 160, 4, 20
WEIGHTS = np.linspace(1.0, 20.0, N)
DIAGONAL = np.linspace(1.0, 2.0, N)
SIGNS = np.where(np.arange(N) % 3 == 0, -1.0, 1.0)


def sharded(values: np.ndarray) -> jax.Array:
    """The rows of a NumPy array on their devices."""
    return jax.make_array_from_callback(values.shape, ROWS, lambda index: values[index])


def gathered(X: jax.Array) -> np.ndarray:
    """All rows, in every process."""
    return np.asarray(jax.jit(lambda X: X, out_shardings=NamedSharding(MESH, Spec()))(X))


def function_form(put: Any) -> go.GenOrthManifold:
    """B as a function: a diagonal and a rank-one matrix, of arrays that stay where they are."""
    d, u = put(DIAGONAL), put(np.sin(np.arange(N, dtype=float)))
    return go.from_maps(
        (N, P),
        lambda X: d[:, None] * X + u[:, None] * (u @ X)[None, :] / N,
        lambda T: T,
        companion=np.eye(P),
        definite=True,
    )


#: Each takes the function that puts the rows of its data where they belong.
MANIFOLDS: dict[str, Any] = {
    "stiefel": lambda put: go.Stiefel(N, P),
    "generalized": lambda put: go.GeneralizedStiefel(put(DIAGONAL), P),
    "function": function_form,
    "hyperbolic": lambda put: go.HyperbolicStiefel(put(SIGNS * DIAGONAL), P),
    "indefinite": lambda put: go.IndefiniteStiefel(put(SIGNS), np.array([1.0, 1.0, 1.0, -1.0])),
    "symplectic": lambda put: go.SymplecticStiefel(N, P, rows="pairs"),
}


def problem(manifold: go.GenOrthManifold, put: Any) -> go.Problem:
    """|X - T|^2/2 + <X, W X>/2, W a diagonal, T fixed."""
    w, T = put(WEIGHTS), put(np.cos(np.arange(N * P, dtype=float)).reshape(N, P))

    def both(X: Any) -> tuple[Any, Any]:
        D = X - T
        WX = w[:, None] * X
        return ((D * D).sum() + (X * WX).sum()) / 2, D + WX

    return go.Problem(
        manifold, cost_and_gradient=both, euclidean_hessian=lambda X, Z: Z + w[:, None] * Z
    )


def differences(name: str, methods: tuple[str, ...]) -> dict[str, float]:
    """By method: the largest difference of 20 iterates from NumPy's."""
    near, far = MANIFOLDS[name](np.asarray), MANIFOLDS[name](sharded)
    start = far.random_point(1, device=ROWS)
    assert start.sharding.is_equivalent_to(ROWS, 2)
    found = {"random point": float(far.feasibility(start) / far.scale(start))}
    off = start + 1e-3 * far.random_ambient(2, device=ROWS)
    found["restore"] = float(np.abs(gathered(far.restore(off)) - near.restore(gathered(off))).max())
    Z = far.project(start, far.random_ambient(3, device=ROWS)) / 10
    moved = gathered(far.retract(start, Z, "normal"))
    found["normal"] = float(
        np.abs(moved - near.retract(gathered(start), gathered(Z), "normal")).max()
    )
    for method in methods:
        options = {"method": method, "max_iterations": ITERATIONS, "keep_points": True, "tol": 0.0}
        ours = go.minimize(problem(far, sharded), start, **options)
        theirs = go.minimize(problem(near, np.asarray), gathered(start), **options)
        assert ours.x.sharding.is_equivalent_to(ROWS, 2), ours.x.sharding
        assert ours.nit == theirs.nit, (ours.nit, theirs.nit)
        found[method] = max(
            float(np.abs(gathered(X) - Y).max())
            for X, Y in zip(ours.trace.points, theirs.trace.points, strict=True)
        )
    return found


_REDUCE = r"= .* all-reduce(?:-start)?\("


def programs(name: str) -> dict[str, Any]:
    """What the programs of one gradient and one step contain."""
    manifold = MANIFOLDS[name](sharded)
    X = manifold.random_point(0, device=ROWS)
    G = problem(manifold, sharded).evaluate(X)[1]
    place = manifold.place(X)
    known = place._known
    arguments: tuple[Any, ...] = (X, place.kept, known, G)
    texts = [program(places._split, manifold, *arguments).text(*arguments)]
    ray = Cayley(place, place.project(G))
    arguments = (X, *ray._parts[0])  # Z and A, of which H = Z - X A is made anew
    texts.append(program(retractions._compiled_parts, manifold, *arguments).text(*arguments))
    arguments = (X, *ray._parts, 0.1)
    texts.append(program(retractions._cayley_point, manifold, *arguments).text(*arguments))
    newton = program(genorth.geometry.newton._made, manifold, X, None).text(X, None)
    text = "\n".join(texts)
    sizes = re.findall(r"f64\[(\d+,\d+)\]", text + newton)
    shapes = {tuple(map(int, size.split(","))) for size in sizes}
    return {
        "all-reduce": len(re.findall(_REDUCE, text)),
        "newton": len(re.findall(_REDUCE, newton)),
        "others": re.findall(r"all-gather|collective-permute|all-to-all", text + newton),
        "rows": sorted({shape[0] for shape in shapes} | {shape[1] for shape in shapes}),
    }


def refused() -> list[str]:
    """What is said of shardings that are of no use."""
    explicit = jax.make_mesh((len(jax.devices()),), ("rows",))
    said = []
    for sharding in (
        NamedSharding(MESH, Spec(None, "rows")),
        NamedSharding(explicit, Spec("rows")),
    ):
        manifold = go.Stiefel(N, P)
        start = jax.device_put(manifold.random_point(0), sharding)
        try:
            go.minimize(problem(manifold, sharded), start, method="rgd")
        except ValueError as error:
            said.append(str(error))
    return said


def main() -> None:
    """All of it."""
    report: dict[str, Any] = {}
    methods = ("rgd", "rlbfgs")
    if PROCESSES == 1:
        report = {"programs": {name: programs(name) for name in MANIFOLDS}, "refused": refused()}
        methods += ("rcg", "rtr", "cdf-gd", "odf-gd", "odf-lbfgs", "landing")
    jax.config.update("jax_disable_most_optimizations", True)  # no program is read from here on
    report["differences"] = {"generalized": differences("generalized", methods)}
    if PROCESSES == 1:
        others = [name for name in MANIFOLDS if name != "generalized"]
        report["differences"] |= {name: differences(name, ("rgd",)) for name in others}
    if RANK == 0:
        Path(sys.argv[4]).write_text(json.dumps(report))


main()
