"""The worked example as a table with one column per manifold: `python -m paper_repro example`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from genorth.compare.formats import aligned
from genorth.compare.table import Column
from paper_repro.example import EXAMPLES, FAMILIES, Row, solve

#: A solver that stops at |grad f| = 1e-7 of its start has f to about the square of it.
ACCURACY = 1e-9


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The header and the lines of the table: what is listed, and one cell per row."""
    lines = [
        ("", *(type(row.example.manifold).__name__ for row in rows)),
        ("constraint", *(row.example.constraint for row in rows)),
        ("minimise", *(row.example.objective for row in rows)),
        ("shape of X", *(" x ".join(map(str, row.example.manifold.shape)) for row in rows)),
        ("dim M", *(str(row.example.manifold.dim) for row in rows)),
        ("Theta_X by", *(row.example.manifold.theta_solver.name for row in rows)),
        ("f known", *(f"{row.example.minimum:.10f}" for row in rows)),
        ("  from", *(row.example.known_from for row in rows)),
    ]
    for name, family in FAMILIES.items():
        results = [row.results[name] for row in rows]
        lines += [
            (family, *[name] * len(rows)),
            ("  f found", *(f"{result.fun:.10f}" for result in results)),
            ("  relative error", *(f"{row.relative_error(name):.1e}" for row in rows)),
            ("  |grad f|", *(f"{result.gradient_norm:.1e}" for result in results)),
            ("  |C(X)|", *(f"{result.feasibility:.1e}" for result in results)),
            ("  evaluations", *(str(result.evaluations) for result in results)),
            ("  seconds", *(f"{result.time:.2f}" for result in results)),
        ]
    return lines


def show(lines: Sequence[tuple[str, ...]]) -> None:
    """Print the table, with rich where the extra `report` is installed."""
    try:
        import rich.table
    except ImportError:
        print("\n".join(aligned([Column(name, numeric=False) for name in lines[0]], lines)))
        return
    output = rich.table.Table(*lines[0], box=rich.box.SIMPLE, padding=(0, 1, 0, 0))
    for line in lines[1:]:
        output.add_row(*line)
    rich.print(output)


def one_thread() -> AbstractContextManager[object]:
    """One BLAS thread, where the extra `report` is installed.

    NumPy and SciPy bring a BLAS each, and the threads of the one that waits spin.
    """
    try:
        import threadpoolctl
    except ImportError:
        return nullcontext()
    return threadpoolctl.threadpool_limits(1)  # type: ignore[no-any-return]


def run(seed: int = 0) -> int:
    """Solve, print, and return 0 if every known minimum was reached."""
    print("Three problems with a known minimum, both families from the same random point:")
    with one_thread():
        rows = [solve(make(), seed) for make in EXAMPLES]
    show(table(rows))
    missed = [
        f"{name} on {type(row.example.manifold).__name__}"
        for row in rows
        for name in FAMILIES
        if not row.relative_error(name) <= ACCURACY
    ]
    if missed:
        print(f"Not within {ACCURACY:.0e} of the known minimum: {', '.join(missed)}.")
        return 1
    print(f"Both reached the three known minima to {ACCURACY:.0e}.")
    return 0
