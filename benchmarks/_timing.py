"""How the benchmarks measure: two sides in alternation, medians, one BLAS thread.

And how a figure is printed and kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import threadpoolctl

#: Gives, outside of the clock, the call to be timed, with inputs that no earlier call has seen.
Prepare = Callable[[], Callable[[], object]]


@dataclass(frozen=True)
class Figure:
    """One measured number, and the bound that it should keep (None where it is for information)."""

    what: str
    measured: float
    bound: float | None = None
    at_least: bool = False
    unit: str = "x"

    @property
    def passed(self) -> bool:
        if self.bound is None:
            return True
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def __str__(self) -> str:
        line = f"{self.what:<76} {self.measured:>8.3g} {self.unit:<4}"
        if self.bound is None:
            return line
        relation = ">=" if self.at_least else "<="
        verdict = "PASS" if self.passed else "FAIL"
        return f"{line} {relation} {self.bound:<5g} {verdict}"


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread, as long as the block lasts."""
    with threadpoolctl.threadpool_limits(limits=1):
        yield


def _seconds(prepare: Prepare, clock: Callable[[], float] = time.perf_counter) -> float:
    """One call, after another one that is not timed.

    Each side finds its own caches, not what the other side left.
    """
    prepare()()
    call = prepare()
    start = clock()
    call()
    return clock() - start


def medians(
    *sides: Prepare,
    budget: float = 2.0,
    least: int = 15,
    most: int = 2000,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """The median time of each side.

    Rounds alternate the sides and their order, so that all see the same machine. The clock
    time.process_time leaves out what other processes take.
    """
    times: list[list[float]] = [[] for _ in sides]
    order = list(range(len(sides)))
    end = time.perf_counter() + budget
    while len(times[0]) < least or (time.perf_counter() < end and len(times[0]) < most):
        for i in order:
            times[i].append(_seconds(sides[i], clock))
        order.reverse()
    return [statistics.median(side) for side in times]


def ratio(first: Prepare, second: Prepare, budget: float = 2.0) -> float:
    """The median time of `first` over that of `second`."""
    above, below = medians(first, second, budget=budget)
    return above / below


def peak_bytes(prepare: Prepare) -> int:
    """The largest number of bytes alive during the call, its inputs included."""
    tracemalloc.start()
    try:
        call = prepare()
        tracemalloc.reset_peak()
        result = call()
        peak = tracemalloc.get_traced_memory()[1]
        del result
    finally:
        tracemalloc.stop()
    return peak


# ---------------------------------------------------------------------- the command line

#: What `--record` writes, and docs/benchmarks.md shows.
RECORDS = Path(__file__).parents[1] / "docs" / "results" / "benchmarks"
Measures = Mapping[str, Callable[[], list[Figure]]]


def main(bench: str, measures: Measures) -> int:
    """Print the figures of a benchmark; the exit status is the number of those missed.

    Args:
        bench: Its name, that of its file.
        measures: What it measures, by name. On the command line, parts of names choose among
            them, and `--record` keeps the figures for the documentation.

    Returns:
        How many figures missed their bounds.
    """
    words = argparse.ArgumentParser(description=f"The figures of {bench}.")
    words.add_argument("names", nargs="*", help=f"only these, of {', '.join(measures)}")
    words.add_argument("--record", action="store_true", help=f"write them to {RECORDS}")
    options = words.parse_args()
    missed = 0
    for name, measure in measures.items():
        if options.names and not any(part in name for part in options.names):
            continue
        with one_thread():
            figures = measure()
        for figure in figures:
            print(figure, flush=True)
            missed += not figure.passed
        if options.record and figures:
            record(bench, list(measures), name, figures)
    return missed


def record(bench: str, order: list[str], name: str, figures: list[Figure]) -> None:
    """Put the figures of one measure into the file of its benchmark, with commit and machine."""
    from genorth.machine import environment

    path = RECORDS / f"{bench}.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    with one_thread():
        machine = environment(1)
    found[name] = {
        "date": datetime.now(UTC).date().isoformat(),
        "environment": machine,
        "figures": [asdict(figure) | {"passed": bool(figure.passed)} for figure in figures],
    }
    path.parent.mkdir(exist_ok=True)
    kept = {name: found[name] for name in order if name in found}
    path.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
