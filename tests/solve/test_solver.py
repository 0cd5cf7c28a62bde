"""The record of a solver and the registry: what they refuse, entry points, pickling."""

import math
import pickle
import subprocess
import sys
import warnings
from functools import partial
from typing import Any, get_type_hints

import attrs
import numpy as np
import pytest

import genorth as go
from genorth.solve.options import Common, Options
from genorth.solve.solver import SOLVERS, Registry, Solver


def standing(problem: go.Problem, x0: Any = None, *, steps: int = 1) -> go.Result:
    """A solver that makes no step."""
    return attrs.evolve(go.minimize(problem, x0, max_iterations=steps), method="standing")


def problem() -> go.Problem:
    return go.Problem(go.Stiefel(4, 2), lambda X: float(np.sum(X**4)), lambda X: 4 * X**3)


RECORD = Solver(name="mine", family="other", run=standing)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"family": ""}, r"^Solver\.family: need one of 'penalty', 'Riemannian', 'infeasible'"),
        ({"family": "Newton"}, r"^Solver\.family: .*got 'Newton'"),
        ({"name": ""}, r"^Solver\.name"),
        ({"name": 3}, r"^Solver\.name"),
        ({"label": ""}, r"^Solver\.label"),
        ({"run": 3}, r"^Solver\.run"),
        ({"needs": ("jacobian",)}, r"^Solver\.needs"),
        ({"needs": "jacobian"}, r"^Solver\.needs"),
    ],
    ids=str,
)
def test_a_record_that_says_too_little_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        attrs.evolve(RECORD, **fields)


def test_a_solver_without_a_family_is_refused():
    with pytest.raises(ValueError, match=r"^Solver\.family: "):
        Solver(name="mine", run=standing)


def test_a_name_is_taken_once():
    registry = Registry()
    registry.register(RECORD)
    registry.register(RECORD)  # again: nothing changes
    assert registry["mine"] is RECORD
    with pytest.raises(ValueError, match=r"^solver: need a name that no other solver has.*'mine'"):
        registry.register(attrs.evolve(RECORD, algorithm="gd"))
    with pytest.raises(ValueError, match=r"^solver: need a genorth\.Solver"):
        registry.register(standing)  # type: ignore[arg-type]


def test_a_solver_is_called_with_what_it_takes():
    result = RECORD(problem(), steps=3)
    assert result.method == "mine" and result.nit <= 3
    assert RECORD.takes("steps") and not RECORD.takes("tol")
    with pytest.raises(ValueError, match=r"^tol: need an argument of 'mine', which takes steps"):
        RECORD(problem(), tol=1e-3)
    three = attrs.evolve(RECORD, run=partial(standing, steps=3))
    assert three(problem(), steps=3).nit <= 3 and not three.takes("steps")
    with pytest.raises(ValueError, match=r"^steps: need 3, which 'mine' stands for; got 4"):
        three(problem(), steps=4)
    liberal = attrs.evolve(RECORD, run=lambda problem, x0, **anything: standing(problem, x0))
    assert liberal.takes("anything") and liberal(problem(), flavour="any").method == "mine"


def test_minimize_takes_a_record_and_passes_on_what_was_given():
    assert go.minimize(problem(), method=RECORD, steps=2).method == "mine"
    with pytest.raises(ValueError, match=r"^keep_points: need an argument of 'mine'"):
        go.minimize(problem(), method=RECORD, keep_points=True)
    with pytest.raises(ValueError, match=r"^method: need one of 'rgd', .*got 'newton'"):
        go.minimize(problem(), method="newton")


def test_why_not_is_a_reason_or_none():
    cost = go.Problem(go.Stiefel(4, 2), lambda X: 0.0)
    assert RECORD.why_not(problem()) is None
    assert "no gradient" in str(RECORD.why_not(cost))
    # Hessian products can be made by differences of gradients
    assert attrs.evolve(RECORD, needs=("hessian",)).why_not(problem()) is None
    assert attrs.evolve(RECORD, reason=lambda problem: "no").why_not(problem()) == "no"


def test_records_are_pickled_by_name_or_by_what_they_run():
    assert pickle.loads(pickle.dumps(SOLVERS["cdf-lbfgs"])) is SOLVERS["cdf-lbfgs"]
    assert pickle.loads(pickle.dumps(RECORD)) == RECORD
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(attrs.evolve(RECORD, run=lambda problem, x0: None))


def test_a_registered_closure_is_found_again_in_another_process():
    """By the module that registers it, also where no entry point is installed."""
    baselines = pytest.importorskip("baselines")
    pickled = pickle.dumps(baselines.SOLVERS["pymanopt-cg"])
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read()).name)"
    found = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True)
    assert found.stdout.strip() == b"pymanopt-cg", found.stderr


PACKAGE = """
import genorth as go
def run(problem, x0=None, *, tol=1e-6):
    return go.minimize(problem, x0, tol=tol)
RECORDS = [go.Solver(name="theirs", family="infeasible", run=run)]
"""


def test_a_package_adds_its_solvers_by_an_entry_point(tmp_path):
    """And one that fails to load is left out with a warning that names it."""
    (tmp_path / "theirs.py").write_text(PACKAGE)
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[genorth.solvers]\ntheirs = theirs:RECORDS\nbroken = not_there:RECORDS\n"
    )
    code = f"""
import sys, warnings
sys.path.insert(0, {str(tmp_path)!r})
import genorth as go, numpy as np
assert "theirs" not in sys.modules
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    solver = go.SOLVERS["theirs"]
assert any("not_there" in str(w.message) for w in caught), caught
problem = go.Problem(go.Stiefel(4, 2), lambda X: float(np.sum(X**4)), lambda X: 4 * X**3)
print(go.minimize(problem, method="theirs", tol=1e-3).method, solver.family)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["theirs", "infeasible"], done.stderr


def test_options_and_their_keywords_agree():
    assert list(get_type_hints(Common)) == [field.name for field in attrs.fields(Options)]


def test_right_options_are_taken():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Options(tol=0, max_iterations=np.int64(3), max_evaluations=None, max_time=np.float64(2))
        Options(tol=np.float32(1e-3), max_time=math.inf, rng=np.random.default_rng(0))
        Options(max_iterations=None, max_time=3, rng=[1, 2], callback=print, keep_points=True)
    assert Options(tol=1e-3, rng=0).changed() == {"tol": 1e-3, "rng": 0}
