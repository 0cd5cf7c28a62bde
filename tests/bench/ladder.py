"""The ladder: Riemannian solvers on manifolds of rising condition number, by retraction.

{hyperbolic, indefinite, bilinear, generalized} at condition 1, 30, 1000 and symplectic, times
{nearest point to a Gaussian point, weighted trace with a Wishart matrix}. Run as

    python tests/bench/ladder.py [--sizes 40x6 400x10] [--only hyperbolic] [--out rows.jsonl]

It prints evaluations plus Hessian products by "cayley", "normal" and "auto", and the largest number
of iterations. Rows are appended to the file and not measured again; `--only none --out rows.jsonl`
prints the summary alone. The aims, for "auto":

- the nearest point is found in every run, on all but the generalized manifold with at most 200
  iterations;
- no solver needs more than 3 evaluations an iteration in the mean;
- it costs at most 1.3 times the better of the other two in 90 % of the rows, and twice in all.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

import genorth as go
from baselines import rcg, rgd, rlbfgs, rtr
from paper_repro.ladder import rungs

SOLVERS: dict[str, Any] = {"rgd": rgd, "rcg": rcg, "rlbfgs": rlbfgs, "rtr": rtr}
RETRACTIONS = ("cayley", "normal", "auto")
BUDGET = {"tol": 1e-6, "max_iterations": 3000, "max_evaluations": 6000, "max_time": 30.0}


# ---------------------------------------------------------------------- the table


def measure(solver: str, kind: str, problem: go.Problem, starts: int) -> dict[str, Any]:
    """One solver with one retraction, over all starts.

    `cost` is the median of evaluations plus Hessian products, infinite where a run is not done;
    `iterations` the largest number, `per_iteration` the mean number of evaluations of each.
    """
    costs, iterations, shares, done = [], [], [], 0
    for seed in range(starts):
        start = problem.manifold.random_point(seed)
        r = SOLVERS[solver](problem, start, retraction=kind, **BUDGET)
        done += r.success
        costs.append(max(r.nfev, r.njev) + r.nhev if r.success else np.inf)
        iterations.append(r.nit)
        shares.append(r.nfev / max(r.nit, 1))
    return {
        "cost": statistics.median(costs),
        "iterations": max(iterations),
        "per_iteration": statistics.mean(shares),
        "done": done == starts,
    }


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    cells = (
        f"{kind} {row[kind]['cost']:6.0f} ({row[kind]['iterations']:4} it, "
        f"{row[kind]['per_iteration']:4.2f}/it{'' if row[kind]['done'] else ', FAILED'})"
        for kind in RETRACTIONS
    )
    what = f"{row['size']:7} {row['problem']:26} {row['solver']:7}"
    return " ".join((what, *cells, f"auto/best {ratio(row):5.2f}"))


def ratio(row: dict[str, Any]) -> float:
    """The cost of "auto" over the better of the other two; NaN where neither is done."""
    best = min(row["cayley"]["cost"], row["normal"]["cost"])
    return float(row["auto"]["cost"] / best) if best < np.inf else np.nan


def summary(rows: list[dict[str, Any]]) -> None:
    """What the aims are compared with."""
    ratios = np.array([ratio(row) for row in rows])
    known = ratios[~np.isnan(ratios)]
    print(f"{len(rows)} rows, {known.size} solved by cayley or normal")
    print(f"auto/best <= 1.3 in {np.mean(known <= 1.3):.1%}, worst {known.max():.2f}")
    most = max(row["auto"]["per_iteration"] for row in rows)
    print(f"evaluations an iteration: at most {most:.2f}")
    nearest = [row for row in rows if row["problem"].endswith("nearest")]
    failed = [row for row in nearest if not row["auto"]["done"]]
    print(f"nearest point: {len(nearest)} rows, {len(failed)} with a run that failed")
    long = [row["auto"]["iterations"] for row in nearest if "generalized" not in row["problem"]]
    print(f"iterations, but for generalized: at most {max(long, default=0)}")


def main() -> None:
    """Print the table and the summary."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", nargs="+", default=["40x6", "400x10"])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if arguments.out is not None and arguments.out.exists():
        rows = [json.loads(text) for text in arguments.out.read_text().splitlines()]
    known = {(row["size"], row["problem"], row["solver"]) for row in rows}
    for size in arguments.sizes:
        n, p = map(int, size.split("x"))
        for rung in rungs([(n, p)]):
            name, problem = rung.name, rung.problem()
            for solver in arguments.solvers:
                if arguments.only not in name or (size, name, solver) in known:
                    continue
                row = {"size": size, "problem": name, "solver": solver}
                row |= {k: measure(solver, k, problem, arguments.starts) for k in RETRACTIONS}
                print(line(row), flush=True)
                rows.append(row)
                if arguments.out is not None:
                    with arguments.out.open("a") as file:
                        print(json.dumps(row), file=file)
    summary(rows)


if __name__ == "__main__":
    main()
