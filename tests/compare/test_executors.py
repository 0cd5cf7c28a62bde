"""`compare.run(executor=...)`: the same records by any executor, also where its workers are lost.

What is lost, and in which order tasks come back, is drawn for an executor of our own, which makes
the runs here; the executors of others are then tried as they are.
"""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import genorth
from genorth import compare
from genorth.compare.render.report import _settings
from genorth.compare.runs import workers
from genorth.compare.runs.record import Record
from genorth.compare.runs.schedule import ATTEMPTS, Here, Observer, Schedule
from genorth.compare.runs.workers import Made, run_place
from support.compare_cases import Killing, dying, instance, raising, standing, stuck
from support.processes import TESTS, processes, started, wait_for
from support.refusals import refused

pytest.importorskip("threadpoolctl", reason="comparisons pin BLAS threads by threadpoolctl")

SWEEP: dict[str, Any] = {"starts": 2, "tolerances": (1e-3, 1e-6), "progress": None}


def run(problems: Any, solvers: Any, **arguments: Any) -> compare.Records:
    return compare.run(problems, solvers, **SWEEP | arguments)


def figures(records: compare.Records) -> list[str]:
    """All of a record but for times, and for where it was made."""
    names = ["key", "about", "status", "fun", "nit", "evaluations", "definition"]
    return [
        repr([getattr(r, name) for name in names])
        + repr((r.message.partition(" (Not run again")[0], r.trace.cost))
        for r in records
    ]


@attrs.define
class Later:
    """A future that is finished at the n-th look; it calls nobody back, as those of submitit."""

    looks: int
    outcome: Any
    cancelled: bool = False

    def done(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def result(self) -> Any:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def cancel(self) -> None:
        self.cancelled = True


def here(function: Any, *arguments: Any) -> Made:
    """What `run_place` does, in this process."""
    *_, payload, tasks = pickle.loads(pickle.dumps(arguments))
    schedule = Schedule(Record, tasks)
    Here(pickle.loads(payload), None).make(schedule)
    return Made("here", tuple(schedule.records({})))


@attrs.define
class Drawn:
    """The n-th task comes back after `looks[n]` looks, and is lost where `lost[n]` is True."""

    looks: list[int]
    lost: list[bool]
    #: So many tasks are taken; then the executor is broken.
    most: int = 10**6
    sent: list[Later] = attrs.Factory(list)
    tasks: list[Any] = attrs.Factory(list)

    def submit(self, function: Any, *arguments: Any) -> Later:
        n = len(self.sent)
        if n >= self.most:
            raise BrokenExecutor("no more")
        lost = n < len(self.lost) and self.lost[n]
        outcome = EOFError("a worker was killed") if lost else here(function, *arguments)
        looks = self.looks[n % len(self.looks)] if self.looks else 0
        self.sent.append(Later(looks, outcome))
        self.tasks.append(arguments[-1])
        return self.sent[-1]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_POLL", 0.0)


SMALL = {"a": instance("a"), "b": instance("b")}
TWO = ["cdf-gd", raising]


@pytest.fixture(scope="module")
def alone() -> list[Any]:
    return figures(run(SMALL, TWO))


@settings(max_examples=8, deadline=None)
@given(looks=st.lists(st.integers(0, 5), max_size=6), lost=st.lists(st.booleans(), max_size=12))
@example(looks=[], lost=[True, False, False, False, True])  # one place, twice
@example(looks=[], lost=12 * [True])  # all, three times
def test_whatever_is_lost_and_whenever_the_rest_comes_back(alone, looks, lost):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_POLL", 0.0)
        drawn = Drawn(looks, lost)
        records = run(SMALL, TWO, executor=drawn)
    places = len(SMALL) * SWEEP["starts"]
    assert places <= len(drawn.sent) <= ATTEMPTS * places
    for record, figure in zip(records, alone, strict=True):
        if "was lost" in record.message:  # three times
            assert record.status == "RAISED" and "3 times" in record.message
            assert "EOFError: a worker was killed" in record.message
        else:
            assert figures(compare.Records([record])) == [figure]
    if sum(lost) < ATTEMPTS:
        assert figures(records) == alone
    # a place is lost as a whole: one host makes all of its runs
    for key in {record.key[:3] for record in records}:
        part = [r for r in records if r.key[:3] == key]
        assert len({"was lost" in record.message for record in part}) == 1


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("most", [0, 2, 4])
def test_a_broken_executor_ends_the_call_and_another_one_resumes(alone, most, tmp_path):
    broken = Drawn([], [True], most)  # the first is lost, and so sent again
    with pytest.raises(BrokenExecutor, match="no more") as caught:
        run(SMALL, TWO, executor=broken, out=tmp_path)
    # what was submitted before the executor broke has come back, or is cancelled
    assert len(caught.value.records) == 4 * sum(not later.cancelled for later in broken.sent[1:])
    assert (len(caught.value.records) > 0) == (most == 4)
    assert "the same call resumes there" in caught.value.__notes__[0]
    assert figures(run(SMALL, TWO, executor=Drawn([], []), out=tmp_path)) == alone
    assert len((tmp_path / "records.jsonl").read_text().splitlines()) == len(alone)


@pytest.mark.usefixtures("quick")
def test_one_task_is_one_problem_and_start_with_all_solvers_and_tolerances():
    drawn = Drawn([], [])
    run(SMALL, TWO, executor=drawn)
    assert len(drawn.tasks) == 4
    for tasks in drawn.tasks:
        assert len(tasks) == 4 and len({task.seed for task in tasks}) == 1
        assert {task.case for task in tasks} == {0}


@pytest.mark.usefixtures("quick")
def test_an_interruption_cancels_what_is_underway():
    class Interrupting(Observer):
        def finish(self, record: compare.Record) -> None:
            raise KeyboardInterrupt

    drawn = Drawn([0, 100], [])
    with pytest.raises(KeyboardInterrupt) as caught:
        run(SMALL, TWO, executor=drawn, progress=Interrupting())
    assert [later.cancelled for later in drawn.sent] == [False, True, False, True]
    assert "1 of 16 runs are finished" in caught.value.__notes__[0]


def _older(function: Any, key: Any, version: str, *rest: Any) -> Any:
    return run_place(key, "0.0", *rest)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ModuleNotFoundError("No module named 'genorth'"), "No module named 'genorth'"),
        (AttributeError("Can't get attribute 'run_place'"), "Can't get attribute 'run_place'"),
        (pickle.UnpicklingError("no such protocol"), "no such protocol"),
        (_older, f"genorth {genorth.__version__}"),  # that of the worker
    ],
)
def test_workers_without_this_version_are_refused(answer, said):
    class Without(Drawn):
        def submit(self, *arguments: Any) -> Later:
            return Later(0, answer(*arguments) if callable(answer) else answer)

    with refused("executor", "workers with genorth", said, tolerance=False):
        run(SMALL, TWO, executor=Without([], []))


class _NoFutures:
    def submit(self, *arguments: Any) -> int:
        return 3


@pytest.mark.parametrize(
    ("arguments", "argument", "formula", "measured"),
    [
        ({"executor": 5}, "executor", "an object with submit()", "5"),
        ({"executor": "dask"}, "executor", "an object with submit()", "'dask'"),
        ({"executor": ThreadPoolExecutor}, "executor", "an object with submit()", "class"),
        ({"executor": _NoFutures()}, "executor", "submit() to return futures", "int"),
        ({"executor": Drawn([], []), "jobs": 2}, "jobs", "1 with an executor", "2"),
        (
            {
                "executor": Drawn([], []),
                "problems": instance("open", make=threading.Lock().acquire),
            },
            *("problems", "can be pickled", "'open (6,2)'"),
        ),
    ],
    ids=["number", "name", "class", "no futures", "with jobs", "not picklable"],
)
def test_bad_executors_are_refused(arguments, argument, formula, measured):
    given = {"problems": instance(), "solvers": [standing]} | arguments
    with refused(argument, formula, measured, tolerance=False):
        run(given.pop("problems"), given.pop("solvers"), **given)


def test_threads_make_the_same_records_and_a_solver_that_dies_harms_no_other():
    solvers = {"first": "cdf-gd", "raising": raising, "dying": dying, "last": "rgd"}
    once: dict[str, Any] = {"starts": 1, "tolerances": 1e-6}
    with ThreadPoolExecutor(1) as pool:
        records = run(instance(), solvers, executor=pool, **once)
    good = [record for record in records if record.solver != "dying"]
    del solvers["dying"]
    assert figures(compare.Records(good)) == figures(run(instance(), solvers, **once))
    for record in records.where(solver="dying"):
        assert record.status == "RAISED" and "exit code 3" in record.message
    for record in records:
        assert record.environment["host"] and record.environment["threads"] == "1"
        assert record.environment["executor"] == "ThreadPoolExecutor"
    assert f"<td>{records[0].environment['host']}</td>" in _settings(records)


def test_a_worker_without_the_code_of_a_problem_is_refused_by_the_name_of_the_module():
    module = types.ModuleType("ghost")  # here, and in no other process
    exec(
        "from support.compare_cases import procrustes\ndef make(seed): return procrustes(seed)",
        vars(module),
    )
    sys.modules["ghost"] = module
    try:
        with (
            ThreadPoolExecutor(1) as pool,
            refused("executor", "the code of all problems", "'ghost'", tolerance=False),
        ):
            run(instance(make=module.make), ["cdf-gd"], executor=pool)
    finally:
        del sys.modules["ghost"]


_SWEEPS = "is not installed: pip install 'genorth[sweeps]'"


@contextmanager
def _loky(folder: Path) -> Iterator[Any]:
    pool = pytest.importorskip("loky", reason=_SWEEPS).ProcessPoolExecutor(2)
    try:
        yield pool
    finally:
        pool.shutdown()


@contextmanager
def _dask(folder: Path) -> Iterator[Any]:
    dask = pytest.importorskip("distributed", reason=_SWEEPS)
    arguments = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.LocalCluster(**arguments, local_directory=folder, silence_logs=50) as cluster,
        dask.Client(cluster) as client,
    ):
        yield client.get_executor()


@contextmanager
def _submitit(folder: Path) -> Iterator[Any]:
    submitit = pytest.importorskip("submitit", reason=_SWEEPS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        # seconds that it waits for a slow file system, after a job has ended without a result
        patch.setattr(submitit.LocalJob, "_results_timeout_s", 0)
        yield submitit.LocalExecutor(folder)


EXECUTORS: dict[str, Callable[[Path], Any]] = {
    "processes": lambda folder: ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
    "threads": lambda folder: ThreadPoolExecutor(2),
    "loky": _loky,
    "dask": _dask,
    "submitit": _submitit,
}
each = pytest.mark.parametrize("name", EXECUTORS)
# of the executors of others: what they warn of, is theirs
theirs = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
@theirs
@each
@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")
def test_every_executor_makes_the_same_records_also_if_a_worker_is_killed(name, tmp_path):
    """A pool that is broken by it is replaced: the same call resumes."""
    flag, out = tmp_path / "flag", tmp_path / "out"
    limits: dict[str, Any] = {"max_time": 1.0, "grace": 0.1, "starts": 2}
    solvers = {"cdf-gd": "cdf-gd", "killing": Killing(flag), "raising": raising, "stuck": stuck}
    if name == "threads":
        flag.touch()  # the worker is this very process
    for call in range(2):
        with EXECUTORS[name](tmp_path) as executor:
            arguments = limits | {"executor": executor, "out": out}
            try:
                found = run(instance(), solvers, **arguments)
                break
            except BrokenExecutor:
                assert call == 0 and name in ("processes", "loky")
    assert flag.exists()
    assert {record.status for record in found.where(solver="stuck")} == {"HUNG"}
    del solvers["stuck"]
    alone = run(instance(), solvers, **limits)
    assert figures(found.where(lambda record: record.solver != "stuck")) == figures(alone)
    assert sorted(figures(compare.load(out))) == sorted(figures(found))
    hosts = {record.environment["host"] for record in found}
    assert len(hosts) == 1 and hosts == {alone[0].environment["host"]}


@pytest.mark.slow
@theirs
def test_submitit_without_the_code_is_refused_by_the_name_of_the_module(tmp_path, monkeypatch):
    with _submitit(tmp_path) as executor:
        monkeypatch.setenv("PYTHONPATH", str(TESTS.parent))  # genorth, without tests/
        with refused("executor", "the code of all problems", "'support'", tolerance=False):
            run(instance(), ["cdf-gd"], executor=executor, starts=1)


_SCRIPT = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from support.compare_cases import Counting, instance, stuck
from genorth import compare
if __name__ == "__main__":
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        solvers = {"a": Counting(Path(sys.argv[1])), "b": stuck}
        compare.run(instance(), solvers, starts=2, executor=pool, progress=None)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this system")
def test_ctrl_c_ends_the_call_and_leaves_no_process(tmp_path):
    """Also in the middle of a run that nothing interrupts."""
    calls = tmp_path / "calls"
    how = {"folder": tmp_path, "stderr": subprocess.PIPE, "start_new_session": True}
    # a background job inherits a SIGINT that is ignored, and Python then leaves it so
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = started(_SCRIPT, calls, preexec_fn=heard, **how)
    wait_for(lambda: calls.exists() and len(calls.read_text().splitlines()) >= 2, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    try:
        _, said = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode != 0 and "KeyboardInterrupt" in said and "runs are finished" in said
    wait_for(lambda: process.pid not in {group for *_, group in processes()}, seconds=10)
