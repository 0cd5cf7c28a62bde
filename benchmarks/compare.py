"""The figures of the comparison framework: what `compare.run` adds to runs of one second.

And how long the report of 5,000 runs takes to write and to open in Chromium, and how large it is.
Run as `python benchmarks/compare.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from _timing import Figure, main

import genorth as go
from baselines import SOLVERS
from genorth import compare
from genorth.compare.runs.record import About, Record
from genorth.solve.result import Trace
from paper_repro.problems import Matching

_SECONDS = 1.0
_NEVER = 1e-300  # a tolerance that no run reaches: each makes all its iterations


class _Clocked:
    """The solver, with the wall time of all its calls."""

    def __init__(self, name: str) -> None:
        self._solver, self.seconds = SOLVERS[name], 0.0

    def __call__(self, problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        begin = time.perf_counter()
        result = self._solver(problem, x0, **arguments)
        self.seconds += time.perf_counter() - begin
        return result


def _iterations(problem: go.Problem, start: Any, solver: str) -> int:
    """How many take one second of a processor.

    A run of so many is disturbed by other work as much as `run` is.
    """
    begin = time.process_time()
    result = SOLVERS[solver](problem, start, tol=_NEVER, max_iterations=50)
    return round(_SECONDS * result.nit / (time.process_time() - begin))


def _share(instance: compare.Case, solver: str, iterations: int, runs: int) -> float:
    """(wall time of `run` with a folder) - (wall time of the solver), in percent of the latter."""
    clocked = _Clocked(solver)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        records = compare.run(
            [instance],
            {f"{solver} {i}": clocked for i in range(runs)},
            tolerances=_NEVER,
            max_iterations=iterations,
            out=folder,
            progress=None,
        )
        wall = time.perf_counter() - begin
    assert {record.status for record in records} == {"ITERATION_LIMIT"}, records[0].message
    return 100 * (wall - clocked.seconds) / clocked.seconds


def overhead(n: int, p: int, solver: str, times: int = 3) -> list[Figure]:
    """Of a comparison of four runs of one second, and of one such run.

    The one run bears alone what is done once for all runs. The problem and the start are made
    before: they are needed with or without `run`.
    """
    matching = Matching.generate(n, p, 0)
    problem, start = matching.problem(), matching.start(0)
    instance = compare.Case(
        "matching", f"({n},{p})", lambda seed: problem, lambda problem, seed: start
    )
    iterations = _iterations(problem, start, solver)
    _share(instance, solver, iterations, 1)  # loads what is loaded once
    one, four = (
        statistics.median(_share(instance, solver, iterations, runs) for _ in range(times))
        for runs in (1, 4)
    )
    what = f"compare.run, {solver} on matching ({n},{p}), runs of 1 s: overhead"
    return [
        Figure(f"{what}, 4 of them", four, 2.0, unit="%"),
        Figure("    a single one", one, unit="%"),
    ]


# Opens the page in a frame; the title of this page becomes its milliseconds.
_OPENING = """<!doctype html><title>opening</title><body><script>
const begin = performance.now(), frame = document.createElement("iframe");
Object.assign(frame, { width: 1400, height: 900, src: "report.html" });
document.body.append(frame);
const look = setInterval(() => {
  if (!frame.contentDocument?.documentElement?.dataset.ready) return;
  clearInterval(look);
  document.title = performance.now() - begin;
}, 10);
</script></body>"""
_CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_PLACES = ("(20,4)", "(100,10)", "(500,20)", "(1000,20)", "(2000,20)")
_SOLVERS = ("cdf-gd", "cdf-lbfgs", "odf-lbfgs", "odf-tr", "rgd", "rcg", "rlbfgs", "rtr", "landing")


def _many(rng: random.Random) -> compare.Records:
    """5,000 runs of three families with traces of 200 points, all made up."""
    found = []
    keys = product(range(10), _PLACES, range(5), (1e-5, 1e-9), (*_SOLVERS, "plam"))
    for problem, size, seed, tolerance, solver in keys:
        trace, total = Trace(), rng.uniform(0.1, 10.0)
        for n in range(200):
            norm = 10.0 ** (-n / 20) * rng.uniform(0.5, 1.5)
            trace.append(total * n / 200, norm, norm, 1e-15, n)
        key = {"problem": f"problem {problem}", "size": size, "seed": seed}
        figures = {"fun": 0.0, "gradient_norm": tolerance, "feasibility": 1e-15, "nit": 200}
        figures |= {"time": total, "cpu": total, "nfev": 200, "njev": 200, "trace": trace}
        status = "CONVERGED" if rng.random() < 0.95 else "TIME_LIMIT"
        figures |= {"status": status, "success": status == "CONVERGED"}
        about = About.of(solver, SOLVERS[solver])
        phases = {"cost": 0.4 * total, "retraction": 0.2 * total}
        run = key | {"tolerance": tolerance, "solver": solver} | figures
        found.append(Record(**run, about=about, message="", seconds=phases))
    return compare.Records(found)


def _opened(folder: Path) -> float:
    """Seconds from the request to the drawn page, in a browser that runs."""
    (folder / "opening.html").write_text(_OPENING, "utf-8")
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    own = ("--allow-file-access-from-files", f"--user-data-dir={folder}/profile")
    page = (folder / "opening.html").as_uri()
    browser = subprocess.Popen(
        [str(_CHROMIUM), *flags, *own, "--remote-debugging-port=0", page],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            time.sleep(0.1)
            with suppress(OSError, ValueError, LookupError):
                port = (folder / "profile" / "DevToolsActivePort").read_text().split()[0]
                with urlopen(f"http://127.0.0.1:{port}/json") as found:
                    (title,) = (each["title"] for each in json.load(found) if each["url"] == page)
                return float(title) / 1000
    finally:
        browser.terminate()
        browser.wait()
    raise TimeoutError("the report did not open in a minute")


def written() -> list[Figure]:
    """The report of 5,000 runs; its opening only where there is a Chromium."""
    records, what = _many(random.Random(0)), "report of 5,000 runs"
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        page = compare.report(records, Path(folder) / "report.html", progress=None)
        figures = [
            Figure(f"{what}: to write", time.perf_counter() - begin, 20.0, unit="s"),
            Figure(f"{what}: size", page.stat().st_size / 1e6, 8.0, unit="MB"),
        ]
        if _CHROMIUM:
            seconds = statistics.median(_opened(Path(folder)) for _ in range(3))
            figures.append(Figure(f"{what}: to open in Chromium", seconds, 2.0, unit="s"))
    return figures


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "overhead, (100,10)": partial(overhead, 100, 10, "rgd"),
    "overhead, (1000,100)": partial(overhead, 1000, 100, "rgd"),
    "report": written,
}


if __name__ == "__main__":
    sys.exit(main("compare", FIGURES))
