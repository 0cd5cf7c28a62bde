"""The figures of solvers on the device: JAX against NumPy, memory, and how time grows with n.

Run as `python benchmarks/device.py`, on one core (`taskset -c 0`), so that both sides have one
thread. NumPy asks the system for large pages itself. JAX gets them by
`GLIBC_TUNABLES=glibc.malloc.hugetlb=1`, which docs/scaling.md recommends; the script starts itself
with it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from _timing import Figure, main

import genorth as go

P = 20
_PAGES = "glibc.malloc.hugetlb=1"


def _weights(n: int) -> np.ndarray:
    return np.linspace(1.0, 5.0, n)


def _numpy(n: int) -> tuple[go.Problem, Any]:
    """<X, W X>/2 over X^T D X = I, W and D diagonal, in NumPy."""
    w = _weights(n)[:, None]

    def both(X: Any) -> tuple[float, Any]:
        WX = w * X
        return float(np.vdot(X, WX)) / 2, WX

    manifold = go.GeneralizedStiefel(np.linspace(1.0, 2.0, n), P)
    return go.Problem(manifold, cost_and_gradient=both), manifold.random_point(0)


def _jax(n: int) -> tuple[go.Problem, Any]:
    """The same in JAX, from a start drawn there."""
    import jax
    import jax.numpy as jnp

    w = jnp.asarray(_weights(n))[:, None]

    @jax.jit
    def both(X: Any) -> tuple[Any, Any]:
        WX = w * X
        return jnp.sum(X * WX) / 2, WX

    manifold = go.GeneralizedStiefel(jnp.linspace(1.0, 2.0, n), P)
    return go.Problem(manifold, cost_and_gradient=both), manifold.random_point(
        0, device=jax.devices()[0]
    )


def _seconds(problem: go.Problem, start: Any, iterations: int, method: str = "rgd") -> float:
    """The median time of an iteration, without the first two."""
    result = go.minimize(problem, start, method=method, tol=0.0, max_iterations=iterations)
    return statistics.median(np.diff(result.trace.time)[2:])


def against_numpy(n: int = 1_000_000, runs: int = 3) -> list[Figure]:
    """One iteration of rgd, the sides in alternation."""
    sides = {"numpy": _numpy(n), "jax": _jax(n)}
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(runs):
        for name, (problem, start) in sides.items():
            times[name].append(_seconds(problem, start, 7))
    middle = {name: statistics.median(values) for name, values in times.items()}
    return [
        Figure(f"rgd ({n}, {P}), diagonal form, an iteration in NumPy", middle["numpy"], unit="s"),
        Figure("  JAX over NumPy, one thread each", middle["jax"] / middle["numpy"], 1.0),
    ]


def per_row(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)) -> list[Figure]:
    """The time of an iteration of rgd in JAX, for each row."""
    times = [_seconds(*_jax(n), 60 if n <= 100_000 else 8) / n for n in sizes]
    figures = [
        Figure(f"rgd in JAX, time per row at n = {n}", 1e9 * t, unit="ns")
        for n, t in zip(sizes, times, strict=True)
    ]
    spread = max(times) / min(times)
    return [*figures, Figure("  largest over smallest time per row", spread, 1.3)]


def _resident(key: str) -> float:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return 1024.0 * int(line.split()[1])
    raise KeyError(key)


def _peak(method: str, n: int) -> float:
    """The largest number of arrays of the size of X during a run, the start included."""
    problem, start = _jax(n)
    options: dict[str, Any] = {"method": method, "tol": 0.0}
    go.minimize(problem, start, max_iterations=3, **options)  # compiled
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    go.minimize(problem, start, max_iterations=14, **options)
    return 1 + (_resident("VmHWM") - before) / (8.0 * n * P)


def memory() -> list[Figure]:
    """Peak memory, each solver in a process of its own."""
    figures = []
    for method, n, bound in (("rgd", 1_000_000, 10), ("rlbfgs", 400_000, 8 + 2 * 10)):
        said = subprocess.run(
            [sys.executable, __file__, "peak", method, str(n)],
            env=_environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        what = f"{method} in JAX, ({n}, {P}): arrays of the size of X"
        figures.append(Figure(what, float(said.split()[-1]), bound, unit=""))
    return figures


def _environment() -> dict[str, str]:
    return os.environ | {"GLIBC_TUNABLES": _PAGES, "JAX_ENABLE_X64": "1"}


FIGURES = {"against NumPy": against_numpy, "time per row": per_row, "memory": memory}

if __name__ == "__main__":
    if os.environ.get("GLIBC_TUNABLES") != _PAGES:
        os.execve(sys.executable, [sys.executable, *sys.argv], _environment())
    if sys.argv[1:2] == ["peak"]:
        print(_peak(sys.argv[2], int(sys.argv[3])))
    else:
        sys.exit(main("device", FIGURES))
