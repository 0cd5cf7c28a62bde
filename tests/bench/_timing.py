"""How the benchmarks measure: two sides in alternation, medians, one BLAS thread.

And how a figure is printed.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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


def _seconds(prepare: Prepare) -> float:
    """One call, after another one that is not timed.

    Each side finds its own caches, not what the other side left.
    """
    prepare()()
    call = prepare()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def medians(*sides: Prepare, budget: float = 2.0, least: int = 15, most: int = 2000) -> list[float]:
    """The median time of each side.

    Rounds alternate the sides and their order, so that all see the same machine.
    """
    times: list[list[float]] = [[] for _ in sides]
    order = list(range(len(sides)))
    end = time.perf_counter() + budget
    while len(times[0]) < least or (time.perf_counter() < end and len(times[0]) < most):
        for i in order:
            times[i].append(_seconds(sides[i]))
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


def show(measures: Iterable[Callable[[], list[Figure]]]) -> int:
    """Print every figure; the exit status of a benchmark is the number of those missed."""
    missed = 0
    with one_thread():
        for measure in measures:
            for figure in measure():
                print(figure, flush=True)
                missed += not figure.passed
    return missed
