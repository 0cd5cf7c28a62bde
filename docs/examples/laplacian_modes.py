"""The ten lowest modes of a finite-difference Laplacian, the grid spread over processes.

    min tr(X^T L X)/2 over X^T X = I,  X of size (grid points) x 10

Each process holds its slabs of the grid and of X. On one machine, with two processes:

    python laplacian_modes.py --processes 2 --rank 0 &
    python laplacian_modes.py --processes 2 --rank 1

Under Slurm, `srun python laplacian_modes.py --slurm` in as many tasks as there are devices.
"""

from __future__ import annotations

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import genorth as go

MODES = 10
SMOOTHING = 8  # products with L in the preconditioner
LARGEST = 12.0  # no eigenvalue of L is larger


def laplacian(V: jax.Array) -> jax.Array:
    """L V on the grid (nx, ny, nz, columns), zero outside. JAX exchanges the slabs' neighbours."""
    total = 6 * V
    for axis in range(3):
        edge = [(0, 0)] * 4
        edge[axis] = (1, 1)
        padded, size = jnp.pad(V, edge), V.shape[axis]
        total -= jax.lax.slice_in_dim(padded, 0, size, axis=axis)
        total -= jax.lax.slice_in_dim(padded, 2, size + 2, axis=axis)
    return total


@partial(jax.jit, static_argnames="grid")
def energy(X: jax.Array, grid: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
    """tr(X^T L X)/2 and its gradient L X."""
    LX = laplacian(X.reshape(*grid, -1)).reshape(X.shape)
    return jnp.sum(X * LX) / 2, LX


@partial(jax.jit, static_argnames="grid")
def smoothed(X: jax.Array, V: jax.Array, grid: tuple[int, ...]) -> jax.Array:  # noqa: ARG001
    """A polynomial of L, close to its inverse on [0.2, 12]: Chebyshev's iteration for L Z = V."""
    right = V.reshape(*grid, -1)
    middle, half = (LARGEST + 0.2) / 2, (LARGEST - 0.2) / 2
    step = 1 / middle
    Z = D = right * step
    for _ in range(SMOOTHING):
        turn = (half * step / 2) ** 2 if step != 1 / middle else (half * step) ** 2 / 2
        step = 1 / (middle - turn / step)
        D = step * (right - laplacian(Z)) + turn * D
        Z = Z + D
    return Z.reshape(V.shape)


def refined(X: jax.Array, coarse: tuple[int, ...], grid: tuple[int, ...], rows: NamedSharding):
    """X on a finer grid, by linear interpolation."""

    @partial(jax.jit, out_shardings=rows)
    def resize(X: jax.Array) -> jax.Array:
        V = jax.image.resize(X.reshape(*coarse, MODES), (*grid, MODES), "linear")
        return V.reshape(-1, MODES)

    return resize(X)


def exact(grid: tuple[int, ...]) -> np.ndarray:
    """The lowest eigenvalues, which are known for this grid."""
    axes = [2 - 2 * np.cos(np.pi * np.arange(1, min(n, 9) + 1) / (n + 1)) for n in grid]
    sums = axes[0][:, None, None] + axes[1][None, :, None] + axes[2][None, None, :]
    return np.sort(sums.ravel())[:MODES]


def modes(grid: tuple[int, ...], rows: NamedSharding, levels: int, tol: float) -> go.Result:
    """The modes, from those of a grid that is half as fine in each direction."""
    manifold = go.Stiefel(int(np.prod(grid)), MODES)
    problem = go.Problem(manifold, cost_and_gradient=partial(energy, grid=grid))
    if levels:
        coarse = tuple(n // 2 for n in grid)
        start = refined(modes(coarse, rows, levels - 1, tol).x, coarse, grid, rows)
    else:
        start = smoothed(None, manifold.random_ambient(0, device=rows), grid)
    result = go.minimize(
        problem,
        start,
        method="rlbfgs",
        memory=5,
        preconditioner=partial(smoothed, grid=grid),
        tol=tol,
        max_iterations=300,
    )
    if jax.process_index() == 0:
        print(f"{grid}: {result.nit} iterations, {result.time:.1f} s, {result.status.name}")
    return result


def main() -> None:
    """Start JAX, solve, and compare with the exact eigenvalues."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grid", default="128,125,125")  # 2,000,000 points
    parser.add_argument("--levels", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--coordinator", default="localhost:12345")
    parser.add_argument("--slurm", action="store_true")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if given.slurm:
        jax.distributed.initialize()  # reads the variables of Slurm
    elif given.processes > 1:
        jax.distributed.initialize(given.coordinator, given.processes, given.rank)
    rows = NamedSharding(Mesh(np.array(jax.devices()), ("rows",)), PartitionSpec("rows"))
    grid = tuple(map(int, given.grid.split(",")))
    result = modes(grid, rows, given.levels, given.tol)
    small = jax.jit(lambda X: X.T @ energy(X, grid)[1])(result.x)
    found, known = np.linalg.eigvalsh(np.asarray(small)), exact(grid)
    if jax.process_index() == 0:
        held = result.x.addressable_shards[0].data.shape
        print(f"each device holds {held[0]} of {result.x.shape[0]} rows")
        print(f"largest relative error of an eigenvalue: {np.max(found / known - 1):.1e}")


if __name__ == "__main__":
    main()
