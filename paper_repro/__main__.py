"""`python -m paper_repro`: the worked example, as a table with one column per manifold."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from paper_repro.example import EXAMPLES, Row, solve

#: A descent that stops at |grad f| = 1e-7 of its start has f to about the square of it.
ACCURACY = 1e-9


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The header and the lines of the table: what is listed, and one cell per row."""
    lines = {
        "": [type(row.example.manifold).__name__ for row in rows],
        "constraint": [row.example.constraint for row in rows],
        "minimise": [row.example.objective for row in rows],
        "shape of X": [" x ".join(map(str, row.example.manifold.shape)) for row in rows],
        "dim M": [str(row.example.manifold.dim) for row in rows],
        "Theta_X by": [row.example.manifold.theta_solver.name for row in rows],
        "iterations": [str(row.iterations) for row in rows],
        "f found": [f"{row.cost:.10f}" for row in rows],
        "f known": [f"{row.example.minimum:.10f}" for row in rows],
        "  from": [row.example.known_from for row in rows],
        "relative error": [f"{row.relative_error:.1e}" for row in rows],
        "|grad f|": [f"{row.gradient_norm:.1e}" for row in rows],
        "|C(X)|": [f"{row.feasibility:.1e}" for row in rows],
        "seconds": [f"{row.seconds:.2f}" for row in rows],
    }
    return [(name, *cells) for name, cells in lines.items()]


def show(lines: Sequence[tuple[str, ...]]) -> None:
    """Print the table, with rich where the extra `report` is installed."""
    try:
        import rich.table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        return
    output = rich.table.Table(*lines[0], box=rich.box.SIMPLE)
    for line in lines[1:]:
        output.add_row(*line)
    rich.print(output)


def main(arguments: Sequence[str] | None = None) -> int:
    """Solve, print, and return 0 if every known minimum was reached."""
    parser = argparse.ArgumentParser(prog="python -m paper_repro", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the random starting points (default 0)")
    seed = parser.parse_args(arguments).seed
    print("Riemannian gradient descent with Barzilai-Borwein steps, from a random point of each manifold:")
    rows = [solve(make(), seed) for make in EXAMPLES]
    show(table(rows))
    missed = [type(row.example.manifold).__name__ for row in rows if not row.relative_error <= ACCURACY]
    if missed:
        print(f"Not within {ACCURACY:.0e} of the known minimum: {', '.join(missed)}.")
        return 1
    print(f"All three reached their known minimum to {ACCURACY:.0e}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
