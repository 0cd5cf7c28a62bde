"""`compare.run`: who runs, from where, for how long, and what is written down of how it ended."""

import gc
import io
import multiprocessing
import signal
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import genorth as go
from baselines import SOLVERS
from genorth import compare
from genorth.compare.render.terminal import Lines
from genorth.compare.runs.store import decode, encode
from genorth.machine import PastLimitError, interrupted
from genorth.solve.clock import Clock
from support.compare_cases import (
    SHAPE,
    Counting,
    ended,
    hanging,
    instance,
    procrustes,
    raising,
    standing,
    stuck,
)
from support.refusals import refused

threadpoolctl = pytest.importorskip(
    "threadpoolctl", reason="comparisons pin BLAS threads by threadpoolctl"
)
alarms = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms on this system")


def run(problems: Any, solvers: Any, **settings: Any) -> compare.Records:
    return compare.run(problems, solvers, **{"progress": None} | settings)


def only(solver: Any, problem: Any = None, **settings: Any) -> compare.Record:
    """The record of one run."""
    records = run(problem or procrustes(0), {"it": solver}, **settings)
    assert len(records) == 1
    return records[0]


def test_one_record_for_each_problem_seed_solver_and_tolerance_loose_to_tight():
    records = run(
        [instance("a"), instance("b")], ["cdf-lbfgs", "cdf-cg"], starts=2, tolerances=(1e-6, 1e-3)
    )
    expected = [
        (name, "(6,2)", seed, solver, tolerance)
        for name in ("a", "b")
        for seed in (0, 1)
        for solver in ("cdf-lbfgs", "cdf-cg")
        for tolerance in (1e-3, 1e-6)
    ]
    assert [record.key for record in records] == expected
    assert all(
        record.success and record.gradient_norm <= 2 * record.tolerance for record in records
    )


@pytest.mark.parametrize("name", ["cdf-lbfgs", "rlbfgs", "rgd-paper"])
def test_a_record_holds_what_the_solver_says(name):
    problem = procrustes(0)
    record = only(SOLVERS[name], problem)
    result = SOLVERS[name](
        procrustes(0), problem.manifold.random_point(0), tol=1e-6, max_time=60, max_iterations=None
    )
    expected = (result.status.name, result.message, result.nit)
    assert (record.status, record.message, record.nit) == expected
    assert (record.nfev, record.njev, record.nhev) == (result.nfev, result.njev, result.nhev)
    assert (record.beta, record.threshold) == (result.beta, result.threshold)
    rounding = 100 * np.finfo(float).eps
    assert abs(record.fun - result.fun) <= rounding * max(1, abs(result.fun))
    assert abs(record.gradient_norm - result.gradient_norm) <= rounding
    assert abs(record.feasibility - result.feasibility) <= rounding
    assert record.trace.cost == result.trace.cost
    assert record.trace.evaluations == result.trace.evaluations
    assert record.time > 0 and set(record.seconds) == set(result.seconds)


def test_all_forms_of_problems_and_solvers():
    problem = procrustes(0)
    forms = [
        run(problem, ["cdf-lbfgs", "cdf-cg"], starts=3),
        run({"mine": problem}, {"cdf-lbfgs": "cdf-lbfgs", "rgd": SOLVERS["rgd"]}, starts=[4, 2]),
        run([problem, instance("other")], [SOLVERS["rlbfgs"], "cdf-gd", standing], tolerances=1e-3),
        run({"made": procrustes, "given": instance("a")}, "cdf-lbfgs"),
    ]
    assert [len(records) for records in forms] == [6, 4, 6, 2]
    assert forms[1].distinct("seed") == [4, 2] and forms[1].distinct("problem") == ["mine"]
    assert forms[2].distinct("solver") == ["rlbfgs", "cdf-gd", "standing"]
    assert forms[3].distinct("row") == [("made", "(6,2)", 1e-6), ("given", "(6,2)", 1e-6)]


def test_all_start_at_the_same_point_in_an_array_of_their_own():
    seen: dict[str, Any] = {}

    def spoiling(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        seen["first"] = x0.copy()
        x0[:] = 0.0
        return ended(x0, success=False, status=go.Status.STALLED)

    def second(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        seen["second"] = x0.copy()
        return standing(problem, x0)

    run(instance(), [spoiling, second], starts=[5])
    assert np.array_equal(seen["first"], go.Stiefel(*SHAPE).random_point(5))
    assert np.array_equal(seen["first"], seen["second"])


def test_the_start_of_an_instance_and_its_options_reach_the_solver():
    start, seen = go.Stiefel(*SHAPE).random_point(9), {}

    def solver(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        seen.update(arguments, x0=x0)
        return standing(problem, x0)

    given_start = instance(
        start=lambda problem, seed: start, options={"solver": {"beta": 0.5}, "another": {"m": 3}}
    )
    run(given_start, [solver], starts=[7], tolerances=1e-4, max_time=5, max_iterations=9)
    assert np.array_equal(seen.pop("x0"), start)
    assert seen == {"tol": 1e-4, "max_time": 5.0, "max_iterations": 9, "beta": 0.5, "rng": 7}


def test_one_problem_is_alive_at_a_time():
    alive: list[weakref.ref[go.Problem]] = []

    def make(seed: int) -> go.Problem:
        gc.collect()
        assert not any(problem() for problem in alive)
        made = procrustes(seed)
        alive.append(weakref.ref(made))
        return made

    run(compare.Case("made", "(6,2)", make), [SOLVERS["rlbfgs"], "cdf-lbfgs", raising], starts=3)
    assert len(alive) == 3


def test_blas_threads_are_pinned_in_every_pool_and_set_back():
    def threads() -> list[int]:
        return [
            pool["num_threads"]
            for pool in threadpoolctl.threadpool_info()
            if pool["user_api"] == "blas" and "torch" not in pool["filepath"]
        ]

    inside: list[int] = []

    def solver(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        inside.extend(threads())
        return standing(problem, x0)

    before = threads()
    record = only(solver, threads=2)
    assert inside == [2] * len(before) and threads() == before
    assert record.environment["threads"] == "2"


def test_the_environment_names_versions_machine_and_blas():
    found = only(standing).environment
    assert found["genorth"] == go.__version__ and found["numpy"] == np.__version__
    named = "python scipy processor cores memory system blas threads processes"
    assert {*named.split()} <= set(found)
    assert all(isinstance(value, str) and value for value in found.values())


def test_a_solver_that_raises_becomes_a_record_and_the_others_go_on():
    first, second = run(procrustes(0), [raising, standing])
    assert (first.status, first.success, second.status) == ("RAISED", False, "STALLED")
    assert "ZeroDivisionError: no such step (compare_cases.py, line " in first.message
    assert first.message.endswith("in raising)") and np.isnan(first.fun) and first.nfev == 1


@alarms
def test_a_solver_that_hangs_is_interrupted():
    begin = time.monotonic()
    first, second = run(procrustes(0), [hanging, standing], max_time=0.5, grace=0.5)
    assert time.monotonic() - begin < 60  # a sleep without end, but for the alarm
    assert (first.status, second.status) == ("HUNG", "STALLED")
    assert "0.5 s" in first.message and 1 <= first.time < 60 and first.nfev == 1


@alarms
def test_a_solver_is_not_interrupted_for_what_we_measure():
    """Its patience is of its own clock, which stands still meanwhile."""
    clock, start = Clock(procrustes(0)), time.monotonic()
    with clock, interrupted(0.3, clock):
        begin = Clock.begin()
        time.sleep(0.5)
        Clock.measured(begin)
        with pytest.raises(PastLimitError):
            time.sleep(10)
    assert 0.3 <= clock.seconds[0] <= time.monotonic() - start - 0.5


@alarms
def test_the_interruption_leaves_alarms_as_they_were():
    rang: list[int] = []
    handler = signal.signal(signal.SIGALRM, lambda signum, frame: rang.append(signum))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(PastLimitError), interrupted(0.05):
            time.sleep(10)
        left = signal.getitimer(signal.ITIMER_REAL)[0]
        assert 0 < left < 1.0 and not rang
        time.sleep(left + 0.05)
        assert rang == [signal.SIGALRM]
        with interrupted(0.05):
            pass
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def test_outside_of_the_main_thread_runs_are_made_without_alarm():
    statuses: list[str] = []
    thread = threading.Thread(target=lambda: statuses.append(only(standing).status))
    thread.start()
    thread.join()
    assert statuses == ["STALLED"]


@pytest.mark.parametrize(
    ("where", "status", "said"),
    [
        (lambda best, x0: {"x": np.nan * x0}, "NOT_FINITE", "|C| is nan"),
        (lambda best, x0: {"x": x0[:1]}, "NOT_FINITE", "|C| is nan"),
        (lambda best, x0: {"x": x0}, "NOT_STATIONARY", "Riemannian gradient norm is"),
        (lambda best, x0: {"x": 2 * best}, "NOT_STATIONARY", "Riemannian gradient norm is"),
        (lambda best, x0: {"x": (1 + 1e-9) * best}, "NOT_FEASIBLE", "|C| is"),
        (lambda best, x0: {"x": best, "status": go.Status.TIME_LIMIT}, "TIME_LIMIT", "fine"),
    ],
)
def test_a_success_that_x_does_not_bear_out_is_taken_back(where, status, said):
    def lying(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        return ended(**where(go.minimize(problem, x0, tol=1e-9).x, x0))

    record = only(lying)
    assert (record.status, record.success) == (status, False)
    assert ("reports success" in record.message) == (said != "fine") and said in record.message


def test_figures_and_counts_are_ours_whatever_the_solver_reports():
    def boasting(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        best = go.minimize(problem, x0, tol=1e-8)
        return ended(
            best.x, fun=-1e9, nfev=3, njev=np.int64(3), time=np.float64(1e9), nit=np.int64(4)
        )

    record, honest = run(procrustes(0), [boasting, "cdf-lbfgs"], tolerances=1e-7)
    assert record.success and abs(record.fun - honest.fun) <= 1e-7 and 0 < record.time < 60
    assert record.nfev > 10 and record.feasibility > 0
    assert decode(encode(record), compare.Record) == record


def test_a_problem_without_gradient_is_a_record_with_the_reason():
    bare = go.Problem(go.Stiefel(*SHAPE), lambda X: float(X.sum()), name="bare")
    for record in run(bare, ["cdf-lbfgs", SOLVERS["rgd"]]):
        assert record.status == "UNSUPPORTED" and "The problem has no gradient." in record.message
    assert run(procrustes(0), ["cdf-tr"])[0].success  # its products are made by differences


def test_derivative_free_success_cannot_be_verified():
    bare = go.Problem(go.Stiefel(*SHAPE), lambda X: float(X.sum()), name="bare")
    record = only(lambda problem, x0, **arguments: ended(x0), bare)
    assert not record.success and np.isfinite(record.fun)


def test_after_the_time_limit_tighter_tolerances_are_not_tried():
    """From the same start: from another one they are."""
    calls: list[tuple[int, float]] = []

    def slow(problem: go.Problem, x0: Any, *, tol: float, rng: int, **arguments: Any) -> go.Result:
        calls.append((rng, tol))
        late = tol <= (1e-2, 1e-6)[rng]
        status = go.Status.TIME_LIMIT if late else go.Status.CONVERGED
        return ended(x0, success=False, status=status, message=status.value, nit=7)

    both = run(procrustes(0), [slow], starts=2, tolerances=(1e-1, 1e-3, 1e-5, 1e-7))
    assert sorted(calls) == [(0, 1e-3), (0, 1e-1), (1, 1e-7), (1, 1e-5), (1, 1e-3), (1, 1e-1)]
    assert not any("Not run again" in record.message for record in both.where(seed=1))
    records = both.where(seed=0)
    expected = ["CONVERGED", "TIME_LIMIT", "TIME_LIMIT", "TIME_LIMIT"]
    assert [record.status for record in records] == expected
    assert [record.tolerance for record in records] == [1e-1, 1e-3, 1e-5, 1e-7]
    for record in list(records)[2:]:
        assert record.nit == 7 and record.message.endswith(
            "(Not run again: the run to 0.001 ended so.)"
        )


@pytest.mark.parametrize("give_up", [None, 1, 2, 3])
def test_a_solver_that_runs_out_of_time_is_given_up_after_so_many_starts(give_up, tmp_path):
    calls: list[int] = []

    def slow(problem: go.Problem, x0: Any, *, tol: float, rng: int, **arguments: Any) -> go.Result:
        calls.append(rng)
        late = rng != 1 and tol < 1e-2  # from the second start it is done in time
        status = go.Status.TIME_LIMIT if late else go.Status.STALLED
        return ended(x0, success=False, status=status, message=status.value)

    how: dict[str, Any] = {"starts": 5, "tolerances": (1e-1, 1e-3), "out": tmp_path}
    records = run(procrustes(0), [slow], give_up=give_up, **how)
    late = [record for record in records if record.tolerance == 1e-3]
    letters = {None: "TSTTT", 1: "TGGGG", 2: "TSTGG", 3: "TSTTG"}[give_up]
    words = {"T": "TIME_LIMIT", "S": "STALLED", "G": "GIVEN_UP"}
    expected = [words[letter] for letter in letters]
    assert [record.status for record in late] == expected
    assert len(calls) == 5 + sum(status != "GIVEN_UP" for status in expected)
    for record in late:
        if record.status == "GIVEN_UP":
            assert not record.success and record.nfev == 0 and not len(record.trace)
            assert record.time == min(r.time for r in late if r.status == "TIME_LIMIT")
            seeds = {1: "0", 2: "0, 2", 3: "0, 2, 3"}[give_up]  # that ran, and out of time
            assert "out of time from other starts" in record.message
            assert f"These are of seeds {seeds}." in record.message
    assert all(record.status == "STALLED" for record in records if record.tolerance == 1e-1)
    # the same call again makes none of them; one that gives nothing up makes them all
    before = len(calls)
    assert [r.status for r in run(procrustes(0), [slow], give_up=give_up, **how)] == [
        record.status for record in records
    ]
    assert len(calls) == before
    assert all(record.status != "GIVEN_UP" for record in run(procrustes(0), [slow], **how))
    assert len(calls) == 10


class _Heard(compare.Observer):
    """Takes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def start(self, total: int) -> None:
        self.told.append(total)

    def begin(self, problem: str, size: str, seed: int, solver: str, tolerance: float) -> None:
        self.told.append((problem, seed, solver, tolerance))

    def finish(self, record: compare.Outcome) -> None:
        self.told.append(record.status)

    def close(self) -> None:
        self.told.append("closed")


def _interrupting(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
    raise KeyboardInterrupt


def test_progress_is_told_in_order():
    heard = _Heard()
    run(instance("a"), [standing, raising], progress=heard)
    run_of = [("a", 0, name, 1e-6) for name in ("standing", "raising")]
    assert heard.told == [2, run_of[0], "STALLED", run_of[1], "RAISED", "closed"]


def test_an_interruption_passes_on_and_says_how_to_go_on(tmp_path):
    heard = _Heard()
    with pytest.raises(KeyboardInterrupt) as caught:
        run(instance("a"), [standing, _interrupting, raising], out=tmp_path, progress=heard)
    assert heard.told[-1] == "closed"
    (note,) = caught.value.__notes__
    assert "1 of 3 runs are finished" in note and str(tmp_path) in note and "resumes" in note
    assert [record.solver for record in compare.load(tmp_path)] == ["standing"]
    assert [record.solver for record in caught.value.records] == ["standing"]
    with pytest.raises(KeyboardInterrupt) as caught:
        run(instance("a"), [standing, _interrupting])
    assert "out=" in caught.value.__notes__[0] and len(caught.value.records) == 1


def test_lines_of_progress_name_run_and_end(capsys):
    compare.run(instance("a"), [standing, raising], progress="auto")  # stderr is no terminal here
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("[1/2] a (6,2) seed 0, standing to 1e-06: STALLED")
    assert second.startswith("[2/2]") and "RAISED" in second
    stream = io.StringIO()
    compare.run(instance("a"), [standing], progress=Lines(stream))
    assert stream.getvalue().count("\n") == 1


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes are started, also on a machine with one core."""
    monkeypatch.setattr("genorth.compare.comparison.cores", lambda: 2)


@alarms
@pytest.mark.usefixtures("two_cores")
def test_worker_processes_make_the_same_records_and_are_killed_where_they_are_stuck(tmp_path):
    solvers = {name: SOLVERS[name] for name in ("cdf-lbfgs", "rlbfgs")}
    bad = {"raising": raising, "stuck": stuck, "counting": Counting(tmp_path / "calls")}
    heard = _Heard()
    settings = {"tolerances": (1e-3, 1e-6), "max_time": 1.5, "grace": 0.5}
    several = run(
        instance(), solvers | bad, jobs=2, out=tmp_path / "out", progress=heard, **settings
    )
    alone = run(instance(), solvers | {"raising": raising}, **settings)
    for one in alone:
        (other,) = [record for record in several if record.key == one.key]
        assert repr((one.status, one.fun, one.nit)) == repr((other.status, other.fun, other.nit))
        assert (one.nfev, one.message) == (other.nfev, other.message)
    assert several.where(solver="stuck").distinct("status") == ["HUNG"]
    assert "killed" in several.where(solver="stuck")[0].message
    assert len(bad["counting"].calls) == 2
    assert len(compare.load(tmp_path / "out")) == len(several) == 10
    assert (heard.told[0], heard.told[-1]) == (10, "closed")
    # one of the stuck ones is carried over
    assert len([told for told in heard.told if isinstance(told, tuple)]) == 9
    assert all(record.environment["processes"] == "2" for record in several)


class _Interrupting(compare.Observer):
    def finish(self, record: compare.Outcome) -> None:
        raise KeyboardInterrupt


@alarms
@pytest.mark.usefixtures("two_cores")
def test_an_interruption_ends_the_worker_processes(tmp_path):
    with pytest.raises(KeyboardInterrupt) as caught:
        run(instance(), [stuck, standing], jobs=2, progress=_Interrupting(), out=tmp_path)
    assert not multiprocessing.active_children()
    assert "1 of 2 runs are finished" in caught.value.__notes__[0]
    assert [record.solver for record in compare.load(tmp_path)] == ["standing"]


def test_what_cannot_be_pickled_is_refused_for_worker_processes() -> None:
    lock = threading.Lock()
    held = go.Problem(go.Stiefel(*SHAPE), lambda X: lock and X.sum(), lambda X: 0 * X, name="held")
    with refused("problems", "can be pickled", "held (6,2)", tolerance=False):
        run(held, ["cdf-lbfgs"], jobs=2)
    with refused("solvers", "can be pickled", "'mine'", tolerance=False):
        run(instance(), {"mine": lambda problem, x0, **arguments: lock}, jobs=2)
    own = go.Solver(name="own", family="other", run=lambda problem, x0, **more: lock)
    with refused("solvers", "can be pickled", "'own'", tolerance=False):
        run(instance(), [own], jobs=2)


@pytest.mark.usefixtures("two_cores")
def test_lambdas_and_closures_reach_worker_processes() -> None:
    pytest.importorskip("cloudpickle", reason="comes with the extra: pip install genorth[compare]")
    solvers = {
        "mine": lambda problem, x0, tol: go.minimize(problem, x0, tol=tol).x,
        "own": go.Solver(name="own", family="other", run=lambda problem, x0, **arguments: x0),
    }
    first, second = run(procrustes(0), solvers, jobs=2)
    assert first.success and second.status == "NOT_STATIONARY"


def test_without_cloudpickle_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genorth.compare.runs.workers.installed", lambda module: False)
    with refused("problems", "can be pickled", "genorth[compare]", tolerance=False):
        run(procrustes(0), ["cdf-lbfgs"], jobs=2)


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("changes", "argument", "formula", "measured"),
    [
        ({"problems": []}, "problems", "at least one", "none"),
        ({"problems": "matching"}, "problems", "a genorth.Problem", "'matching'"),
        ({"problems": {"a": 3}}, "problems", "a genorth.Problem", "'a': 3"),
        ({"problems": {2: instance()}}, "problems", "texts", "2"),
        ({"problems": [instance(), instance()]}, "problems", "once", "'procrustes (6,2)'"),
        ({"solvers": []}, "solvers", "at least one", "none"),
        ({"solvers": ["bfgs"]}, "solvers", "'cdf-lbfgs'", "'bfgs'"),
        ({"solvers": {"a": 3}}, "solvers", "mapping", "'a': int"),
        ({"solvers": {2: "cdf-lbfgs"}}, "solvers", "mapping", "2: str"),
        ({"solvers": [lambda problem, x0: None]}, "solvers", "with a name", "without a name"),
        ({"solvers": ["cdf-cg", "cdf-cg"]}, "solvers", "once", "'cdf-cg'"),
        ({"starts": 0}, "starts", "at least 1", "0"),
        ({"starts": [0, 0]}, "starts", "each once", "[0, 0]"),
        ({"starts": [-1]}, "starts", ">= 0", "[-1]"),
        ({"starts": 1.5}, "starts", "whole numbers", "1.5"),
        ({"tolerances": (1e-3, -1e-3)}, "tolerances", "> 0", "-0.001"),
        ({"tolerances": float("nan")}, "tolerances", "finite", "nan"),
        ({"tolerances": ()}, "tolerances", "at least one", "()"),
        ({"tolerances": (1e-3, 1e-3)}, "tolerances", "each once", "(0.001, 0.001)"),
        ({"max_time": 0}, "max_time", "max_time > 0", "0"),
        ({"max_time": 1e12}, "max_time", "at most 1e+07", "1000000000000.0"),
        ({"jobs": 0}, "jobs", ">= 1", "0"),
        ({"threads": 0}, "threads", ">= 1", "0"),
        ({"max_iterations": 0}, "max_iterations", ">= 1", "0"),
        ({"give_up": 0}, "give_up", ">= 1", "0"),
        ({"grace": -1}, "grace", "grace >= 0", "-1"),
        ({"preparation_limit": 0}, "preparation_limit", "preparation_limit > 0", "0"),
        ({"retry": "no"}, "retry", "True or False", "'no'"),
        ({"out": ""}, "out", "the path of a folder", "''"),
        ({"progress": "loud"}, "progress", "'auto'", "'loud'"),
        ({"progress": print}, "progress", "start, begin, finish and close", "print"),
    ],
)
def test_bad_settings_are_refused(changes, argument, formula, measured):
    settings = {"problems": instance(), "solvers": ["cdf-lbfgs"]} | changes
    with refused(argument, formula, measured, tolerance=False):
        run(settings.pop("problems"), settings.pop("solvers"), **settings)
