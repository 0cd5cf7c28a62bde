"""The tables of docs/choosing.md: every method on sixteen problems, by evaluations and by time.

Run as `python tests/bench/choosing.py [FOLDER]` (some minutes); with a folder it goes on where it
was interrupted.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator

from problem_set import problem_set

import genorth as go
import genorth.compare as compare
from baselines import SOLVERS
from genorth.compare.analysis.profiles import profile
from paper_repro.problems import ExtrinsicMean, JointDiagonalisation, Matching

NAMES = (
    "cdf-gd",
    "cdf-cg",
    "cdf-lbfgs",
    "cdf-tr",
    "rgd-fast",
    "rcg-fast",
    "rlbfgs-fast",
    "rtr-fast",
)
TOLERANCES = (1e-4, 1e-8)
STARTS = 3
SEED = 11  # not that with which the constants of beta="auto" were chosen


def problems() -> list[go.Problem]:
    """The 13 problems of the automatic beta, and small instances of the paper's three."""
    matching, mean = Matching.generate(100, 10, 0), ExtrinsicMean.generate(1000, 20, 0)
    diagonal = JointDiagonalisation.generate(50, 5, 5, 5, 0)
    return [*problem_set(SEED), matching.problem(), mean.problem(), diagonal.problem()]


def table(records: compare.Records, tolerance: float) -> Iterator[str]:
    """For each problem the evaluations of each method, and its time over the fastest (bold)."""
    yield f"| to {tolerance:.0e} | " + " | ".join(f"`{name}`" for name in NAMES) + " | ms |"
    yield "|---" * (len(NAMES) + 2) + "|"
    for problem in records.distinct("problem"):
        mine = records.where(problem=problem, tolerance=tolerance)
        runs = {name: mine.where(solver=name) for name in NAMES}
        solved = [name for name in NAMES if all(record.success for record in runs[name])]
        seconds = {name: statistics.median(record.time for record in runs[name]) for name in solved}
        least = min(seconds.values())
        cells = (
            _cell(runs[name], seconds[name] / least if name in seconds else None) for name in NAMES
        )
        yield f"| {problem} | " + " | ".join(cells) + f" | {1e3 * least:.3g} |"


def _cell(runs: compare.Records, ratio: float | None) -> str:
    if ratio is None:
        return f"{sum(record.success for record in runs)} of {len(runs)}"
    text = f"{statistics.median(record.evaluations for record in runs):g} ({ratio:.1f})"
    return f"**{text}**" if ratio == 1 else text


def shares(records: compare.Records, measure: str) -> Iterator[str]:
    """The performance profile at three factors, for each tolerance."""
    factors = (1, 2, 10)
    heads = [f"{factor} x, {tolerance:.0e}" for tolerance in TOLERANCES for factor in factors]
    yield f"| {measure} | " + " | ".join(heads) + " |"
    yield "|---" * (len(heads) + 1) + "|"
    profiles = [profile(records.where(tolerance=tolerance), measure) for tolerance in TOLERANCES]
    for name in NAMES:
        cells = (f"{each.share(name, factor):.0%}" for each in profiles for factor in factors)
        yield f"| `{name}` | " + " | ".join(cells) + " |"


def of_beta(factors: tuple[float, ...] = (0.3, 1.1, 2, 5, 20, 100, 1000)) -> Iterator[str]:
    """Evaluations of cdf-lbfgs with beta a multiple of the threshold at the solution.

    The manifolds are unbounded.
    """
    yield "| beta / threshold | " + " | ".join(f"{factor:g}" for factor in factors) + " | auto |"
    yield "|---" * (len(factors) + 2) + "|"
    for problem in problem_set(SEED)[7:10]:
        start = problem.manifold.random_point(0)
        auto = go.minimize(problem, start, method="cdf-lbfgs")
        threshold = go.exactness_threshold(problem, auto.x)
        runs = (
            go.minimize(problem, start, method="cdf-lbfgs", beta=factor * threshold)
            for factor in factors
        )
        cells = [f"{run.evaluations}" if run.success else run.status.name for run in runs]
        margin = auto.beta / threshold if auto.beta else 0.0
        yield f"| {problem.name} | " + " | ".join(cells) + f" | {auto.evaluations} ({margin:.2g}) |"


def main() -> None:
    """Run, and print the tables."""
    records = compare.run(
        problems(),
        {name: SOLVERS[name] for name in NAMES},
        starts=STARTS,
        tolerances=TOLERANCES,
        time_limit=20.0,
        out=sys.argv[1] if len(sys.argv) > 1 else None,
        progress=None,
    )
    for tolerance in TOLERANCES:
        print(*table(records, tolerance), sep="\n", end="\n\n")
    for measure in ("time", "evaluations"):
        print(*shares(records, measure), sep="\n", end="\n\n")
    print(*of_beta(), sep="\n")


if __name__ == "__main__":
    main()
