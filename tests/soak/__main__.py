"""`python -m tests.soak --runs 20000 --seed 0`: the exit code is 0 if nothing is wrong.

Runs are kept in a file, from which the same command goes on.
"""

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import genorth as go  # noqa: E402  of this folder

from .problems import Case, case  # noqa: E402
from .verdict import Judge  # noqa: E402


def runs_of(found: Case, only: str | None) -> Iterator[dict[str, Any]]:
    """A run of every solver that takes the problem."""
    judge = Judge(found)
    for name, solver in go.SOLVERS.items():
        problem = found.problem(hessian=found.seed % 3 > 0)
        if solver.why_not(problem) is None and only in (None, name):
            solver.load()  # imports take seconds
            yield {"seed": found.seed, "solver": name} | one(found, judge, problem, name)


def one(found: Case, judge: Judge, problem: go.Problem, name: str) -> dict[str, Any]:
    """One run: its status, its seconds, and what is wrong with it."""
    wrong, status, begin = [], "refused", time.perf_counter()
    used = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = go.minimize(
                problem,
                found.x0,
                method=name,
                tol=found.tol,
                **found.limits,
                check=found.seed % 2 == 0,
                metric=found.metric,
            )
            status = result.status.name
        except ValueError as error:
            if not (": need " in str(error) and "; got " in str(error)):
                wrong.append(f"undocumented: {error!r}")
        except Exception as error:
            wrong.append(f"undocumented: {error!r}")
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    wrong += sorted({f"warning: {w.category.__name__} {w.message}" for w in said})
    if status != "refused":
        wrong += judge.wrong(result, used)
    return {"status": status, "seconds": round(seconds, 3), "wrong": wrong}


def main() -> int:
    """Run what is missing and print what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="the first case is that of this seed")
    parser.add_argument("--solver", help="this one only")
    parser.add_argument("--case", type=int, help="run this case only, and print all of it")
    parser.add_argument("--out", type=Path, help="default: soak-SEED.jsonl")
    given = parser.parse_args()
    if given.case is not None:
        if (only := case(given.case)) is not None:
            print(only.about)
            for run in runs_of(only, given.solver):
                print(run["solver"], run["status"], run["seconds"], *run["wrong"], sep=" | ")
        return 0
    out = given.out or Path(f"soak-{given.seed}.jsonl")
    lines = out.read_text().splitlines() if out.exists() else []
    done = [json.loads(line) for line in lines]
    finished = {run["seed"] for run in done if run["solver"] == "end"}
    done = [run for run in done if run["seed"] in finished and run["solver"] != "end"]
    seed = given.seed
    with suppress(ImportError):  # which the first Adam of a process goes on with
        import torch

        torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    with out.open("a") as file:
        while len(done) < given.runs:
            if seed not in finished and (found := case(seed)) is not None:
                new = list(runs_of(found, given.solver))
                done += new
                file.writelines(json.dumps(run) + "\n" for run in new)
                for what in sorted({wrong for run in new for wrong in run["wrong"]}):
                    by = [run["solver"] for run in new if what in run["wrong"]]
                    print(f"\r{seed} {what[:200]}: {', '.join(by)}\n    {found.about}")
                file.write(json.dumps({"seed": seed, "solver": "end"}) + "\n")
                file.flush()
                print(f"\r{len(done)} of {given.runs} runs", end="", flush=True)
            seed += 1
    kinds = Counter(w.split(":")[0].split(" ")[0] for run in done for w in run["wrong"])
    bad = sum(bool(run["wrong"]) for run in done)
    print(f"\n{len(done)} runs, {bad} with something wrong: {dict(kinds)}")
    print(dict(Counter(run["status"] for run in done).most_common()))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
