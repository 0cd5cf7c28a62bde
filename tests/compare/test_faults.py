"""Nothing ends a sweep: every fault of a table leaves its record, and what follows is unharmed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import genorth as go
from genorth import compare
from genorth.compare.runs.store import decode, encode
from support.compare_cases import instance, procrustes, standing
from support.compare_faults import PROBLEMS, SOLVERS, Fault, Raises
from support.processes import environment, processes, started, wait_for
from support.refusals import refused

pytestmark = pytest.mark.slow

pytest.importorskip("threadpoolctl", reason="comparisons pin BLAS threads by threadpoolctl")
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="alarms and signals of POSIX")
LIMITS = {
    False: {"max_time": 60.0, "preparation_limit": 60.0, "progress": None},
    True: {"max_time": 2.0, "grace": 0.2, "preparation_limit": 1.0, "progress": None},
}
CASES = [(jobs, late) for jobs in (1, 2) for late in (False, True)]


def _chosen(table: dict[str, Fault], jobs: int, late: bool) -> dict[str, Fault]:
    return {n: f for n, f in table.items() if f.late == late and (f.survived or jobs == 2)}


def _check(records: compare.Records, faults: dict[str, Fault], name: str) -> None:
    """Each fault has the record that it must have, and the records can be kept."""
    for record in records:
        if (fault := faults.get(getattr(record, name))) is not None:
            said = f"{getattr(record, name)}: {record.status}, {record.message}"
            allowed = (fault.status,) if isinstance(fault.status, str) else fault.status
            assert record.status in allowed and fault.said in record.message, said
            assert record.success == (fault.status == "CONVERGED"), said
        assert decode(encode(record), compare.Record).key == record.key


@posix
@pytest.mark.parametrize(("jobs", "late"), CASES)
def test_every_faulty_solver_leaves_its_record(tmp_path, jobs, late, monkeypatch):
    monkeypatch.chdir(tmp_path)
    faults = _chosen(SOLVERS, jobs, late)
    solvers = {"first": "cdf-gd", **{n: f.run for n, f in faults.items()}, "last": "cdf-gd"}
    records = compare.run(instance(), solvers, out="here", jobs=jobs, **LIMITS[late])
    assert [record.solver for record in records] == list(solvers)
    _check(records, faults, "solver")
    first, last = records.where(solver="first")[0], records.where(solver="last")[0]
    assert first.success and last.success
    assert (first.fun, first.nit, first.nfev) == (last.fun, last.nit, last.nfev)
    assert first.trace.cost == last.trace.cost
    read = compare.load(tmp_path / "here")  # though a solver went elsewhere
    assert {record.key for record in read} == {record.key for record in records}
    pytest.importorskip("matplotlib")
    assert compare.report(records, tmp_path / "report.html").stat().st_size > 10_000


@posix
@pytest.mark.parametrize(("jobs", "late"), CASES)
def test_every_faulty_problem_leaves_its_records(tmp_path, jobs, late):
    faults = _chosen(PROBLEMS, jobs, late)
    problems = {"first": procrustes, **{n: f.run for n, f in faults.items()}, "last": instance()}
    solvers = ["cdf-gd", "rgd"][: 3 - jobs]
    records = compare.run(problems, solvers, out=tmp_path, jobs=jobs, **LIMITS[late])
    assert len(records) == len(solvers) * len(problems)
    _check(records, faults, "problem")
    for name in ("first", "last"):
        assert all(record.success for record in records.where(problem=name))
    if jobs == 1:  # what is finished is not tried again
        again = compare.run(problems, solvers, out=tmp_path, **LIMITS[late])
        assert repr(list(again)) == repr(list(records))


# ---------------------------------------------------------------------- a crash of this process

_SCRIPT = """
import sys, faulthandler
from support import compare_faults
from support.compare_cases import instance, procrustes
from genorth import compare
kind, name, out = sys.argv[1:]
faulty = getattr(compare_faults, kind)[name].run
problems = {"it": faulty, "good": instance()} if kind == "PROBLEMS" else instance()
solvers = {"it": faulty, "good": "cdf-lbfgs"} if kind == "SOLVERS" else ["cdf-lbfgs"]
compare.run(problems, solvers, out=out, progress=None)
"""


@posix
@pytest.mark.parametrize(
    ("kind", "name", "calls", "said"),
    [
        ("SOLVERS", "segmentation fault", 3, "ended 3 times"),
        ("PROBLEMS", "start crashes", 3, "ended 3 times"),
    ],
)
def test_a_crash_of_this_process_is_not_repeated_for_ever(tmp_path, kind, name, calls, said):
    """With jobs=1 a crash ends the comparison; called again, it goes on past it."""
    for number in range(calls + 1):
        command = [sys.executable, "-c", _SCRIPT, kind, name, str(tmp_path)]
        done = subprocess.run(command, env=environment(), capture_output=True, timeout=100)
        assert (done.returncode == 0) == (number == calls), done.stderr
    records = compare.load(tmp_path)
    faulty, good = records if records[0].status != "CONVERGED" else reversed(list(records))
    assert faulty.status == ("RAISED" if kind == "SOLVERS" else "UNPREPARED")
    assert said in faulty.message and "retry=True" in faulty.message and good.success
    assert not list(tmp_path.glob(".underway*"))


def test_an_interruption_counts_as_no_crash(tmp_path):
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            compare.run(
                instance(), {"it": Raises(KeyboardInterrupt())}, out=tmp_path, progress=None
            )
    assert len(compare.load(tmp_path)) == 0
    (record,) = compare.run(instance(), {"it": Raises(ValueError())}, out=tmp_path, progress=None)
    assert record.status == "RAISED"


class _Refusing(compare.Observer):
    """Raises at the second record."""

    count = 0

    def finish(self, record: compare.Outcome) -> None:
        self.count += 1
        if self.count == 2:
            raise OSError("no more")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exception_carries_the_records_made_so_far(jobs):
    with pytest.raises(OSError, match="no more") as caught:
        compare.run(instance(), [standing, "cdf-lbfgs"], starts=3, jobs=jobs, progress=_Refusing())
    assert len(caught.value.records) >= 2 and "2 of 6" in caught.value.__notes__[0]


# ---------------------------------------------------------------------- processes

_PARENT = """
import sys
from support.compare_cases import Counting, instance, stuck
from pathlib import Path
from genorth import compare
if __name__ == "__main__":
    path = Path(sys.argv[1])
    compare.run(instance(), {"a": Counting(path), "b": stuck}, starts=2, jobs=2, progress=None)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this system")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path, number):
    """Also those in the middle of a run that nothing interrupts."""
    calls = tmp_path / "calls"
    calls.with_suffix(".hold").write_text("1")
    process = started(_PARENT, calls, folder=tmp_path)
    try:
        wait_for(calls.exists, process)
        workers = {child for child, parent, _ in processes() if parent == process.pid}
        assert len(workers) >= 2  # two workers; multiprocessing may have a helper of its own
    finally:
        process.send_signal(number)
        process.wait()
    wait_for(lambda: not workers & {each for each, *_ in processes()}, seconds=10)


def test_no_more_processes_than_cores_or_work(monkeypatch):
    from genorth.compare.runs import workers

    started: set[Any] = set()
    start = workers.Worker._start

    def counted(worker: workers.Worker) -> None:
        started.add(worker)
        start(worker)

    monkeypatch.setattr(workers.Worker, "_start", counted)
    monkeypatch.setattr("genorth.compare.comparison.cores", lambda: 3)
    records = compare.run(instance(), [standing], tolerances=(1e-2, 1e-3), jobs=1000, progress=None)
    assert len(records) == 2 and len(started) == 1  # one chain of tolerances: one worker
    started.clear()
    compare.run(instance(), [standing], starts=7, jobs=1000, progress=None)
    assert len(started) == 3


# ---------------------------------------------------------------------- the folder

_HOLDER = """
import sys
from pathlib import Path
from support.compare_cases import Counting, instance
from genorth import compare
compare.run(instance(), [Counting(Path(sys.argv[1]))], out=sys.argv[2], progress=None)
"""


@posix
def test_a_second_process_on_a_folder_is_refused(tmp_path):
    calls, out = tmp_path / "calls", tmp_path / "out"
    calls.with_suffix(".hold").write_text("1")
    process = started(_HOLDER, calls, out)
    try:
        wait_for(calls.exists, process)
        said = f"process {process.pid} does"
        with refused("out", "to which no other process writes", said, tolerance=False):
            compare.run(instance(), [standing], out=out, progress=None)
        assert len(compare.load(out)) == 0  # reading is allowed
    finally:
        process.kill()
        process.wait()
    assert len(compare.run(instance(), [standing], out=out, progress=None)) == 1


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with refused("out", "a folder that can be written to", "file/below", tolerance=False):
        compare.run(instance(), [standing], out=tmp_path / "file" / "below", progress=None)


def _outside(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
    """Works outside of what its Result tells."""
    go.minimize(problem, x0, method="cdf-gd", tol=1e-3)
    time.sleep(0.3)
    return go.minimize(problem, x0, method="rlbfgs", **arguments)


def _in_the_callback(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
    """Works in a callback, which is not on the solver's own clock."""
    slept: list[int] = []

    def callback(progress: go.Progress) -> None:
        if not slept:
            slept.append(1)
            time.sleep(0.3)

    return go.minimize(problem, x0, method="cdf-lbfgs", callback=callback, **arguments)


def _boasting(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
    import attrs

    time.sleep(0.3)
    result = go.minimize(problem, x0, **arguments)
    trace = go.Trace(*(list(column) for column in result.trace.as_arrays().values()))
    return attrs.evolve(result, time=1e-9, trace=trace)


@pytest.mark.parametrize("solver", [_outside, _in_the_callback, _boasting])
def test_the_clock_cannot_be_fooled(solver):
    record, honest = compare.run(procrustes(0), [solver, "rlbfgs"], progress=None)
    assert record.success and honest.success and 0.3 <= record.time < 30
    if solver is not _in_the_callback:  # the trace is on our clock, with what came before it
        assert 0.3 <= record.trace.time[0] <= record.trace.time[-1] <= record.time
        assert (record.trace.evaluations[0] > 5) == (solver is _outside)
        assert record.trace.evaluations[-1] <= record.evaluations
    assert record.cpu < record.time + 0.05  # it slept: that is no CPU time
    row = compare.tables.best(compare.Records([record, honest]))[0]
    assert row.solver == "rlbfgs"


def test_a_clock_that_goes_back_gives_no_negative_time(monkeypatch):
    real, calls = time.perf_counter, iter(range(10**9))
    backwards = lambda: real() - 5.0 * next(calls)  # noqa: E731
    for where in ("time.perf_counter", "genorth.solve.clock.perf_counter"):
        monkeypatch.setattr(where, backwards)
    for record in compare.run(procrustes(0), ["cdf-lbfgs", "rgd"], progress=None):
        assert record.status == "CONVERGED" and record.time >= 0
        assert all(value >= 0 for value in record.trace.time)
        assert json.loads(encode(record))["time"] >= 0
