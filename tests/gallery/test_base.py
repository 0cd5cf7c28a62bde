"""The frame of the gallery: names without packages, errors that say what to do, domain solvers."""

import importlib.metadata
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth import gallery
from genorth.gallery import base, comparison
from support.compare_records import record
from support.refusals import refused

ROOT = Path(__file__).parents[2]
DIAGONAL = np.arange(1.0, 7.0)


def _instance() -> gallery.Instance:
    """The two smallest of the eigenvalues 1, ..., 6."""
    manifold = go.Stiefel(6, 2)
    return gallery.Instance(
        problem=base.trace_problem(np.diag(DIAGONAL), manifold),
        start=np.eye(6)[:, 4:],
        truth=1.5,
        truth_by="arithmetic",
    )


def _source(package: str, module: str, oldest: str = "0", **more: Any) -> gallery.Source:
    return gallery.Source(
        package, module, oldest, {"ours": gallery.Entry("One.", _instance)}, **more
    )


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a source in place of all others."""
    return lambda source: monkeypatch.setattr(base, "sources", lambda: {"ours": source})


def test_names_are_known_without_any_package():
    script = (
        "import sys, genorth.gallery\n"
        "before = set(sys.modules)\n"
        "assert len(genorth.gallery.names()) == len(set(genorth.gallery.names())) > 10\n"
        "heavy = {'sklearn', 'pyscf', 'pyamg', 'thewalrus', 'pymor', 'matplotlib', 'jinja2'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_gallery_has_instances_and_packages_of_many_kinds():
    assert len(gallery.names()) >= 14
    assert len({source.package for source in base.sources().values()}) >= 6


@pytest.mark.parametrize("name", ["lda-beer", "", 3, None, ["lda-wine"]])
def test_an_unknown_instance_lists_the_known_ones(name):
    for call in (gallery.load, gallery.why_not):
        with refused("name", "'lda-wine'", repr(name), tolerance=False):
            call(name)


@pytest.mark.parametrize(
    "source",
    [
        _source("no-such-package", "no_such_module"),
        _source("numpy", "numpy", also=("no_such_module",)),
    ],
    ids=["package", "also"],
)
def test_a_missing_package_is_named_with_the_extra(add, source):
    add(source)
    with pytest.raises(
        ImportError, match=r"'ours' needs no.such.\w+: pip install 'genorth\[gallery\]'"
    ):
        gallery.load("ours")


@pytest.mark.parametrize("found", ["1.2.9", "1.2", "1.2.9rc1", "0.99", "1"])
def test_a_version_that_is_too_old_is_named(add, monkeypatch, found):
    add(_source("numpy", "numpy", "1.3"))
    monkeypatch.setattr(importlib.metadata, "version", lambda _: found)
    with pytest.raises(ImportError, match=rf"needs numpy >= 1\.3, found {found}: .*genorth"):
        gallery.load("ours")


@pytest.mark.parametrize("found", ["1.3", "1.3.0", "1.3.1", "1.10", "2", "2026.1.1", "1.3+cpu"])
def test_a_version_that_fits_is_taken(add, monkeypatch, found):
    add(_source("numpy", "numpy", "1.3"))
    monkeypatch.setattr(importlib.metadata, "version", lambda _: found)
    assert gallery.names() == ["ours"] and gallery.why_not("ours") is None
    loaded = gallery.load("ours")
    assert (loaded.name, loaded.source, loaded.about) == ("ours", "numpy", "One.")


def test_a_package_that_fails_to_import_names_the_extra(add, monkeypatch):
    add(_source("pandas", "pandas"))
    pytest.importorskip("pandas", reason="any package that is there will do")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"genorth\[gallery\]"):
        gallery.load("ours")


def test_the_extra_has_every_package():
    """And asks for the version that the source asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = [*project["optional-dependencies"]["gallery"], *project["dependencies"]]
    for source in gallery.sources().values():
        assert f"{source.package}>={source.oldest}" in required


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_orthonormal_is_the_nearest_point_of_the_form(p, more, seed, weighted):
    """X S^(-1/2), S = X^T B X: on M, with the same range, and X^T B Y is positive definite."""
    rng, n = np.random.default_rng(seed), p + more
    root = rng.standard_normal((n, n)) / 4 + np.eye(n)
    B = root @ root.T + np.eye(n) if weighted else np.eye(n)
    manifold = go.GeneralizedStiefel(B, p) if weighted else go.Stiefel(n, p)
    Q = np.linalg.qr(rng.standard_normal((n, p)))[0]
    X = Q @ (np.eye(p) + np.triu(rng.uniform(size=(p, p))))
    Y = base.orthonormal(manifold, X)
    tol = 1e3 * n * np.finfo(float).eps * np.linalg.cond(X) ** 2 * np.linalg.cond(B)
    assert float(manifold.feasibility(Y)) <= tol
    S = X.T @ B @ Y
    assert np.allclose(S, S.T, atol=tol * np.linalg.norm(S)) and np.linalg.eigvalsh(S)[0] > 0


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_least_trace_is_no_larger_than_any_trace(p, more, seed):
    rng, n = np.random.default_rng(seed), p + more
    A, root = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    A, B = A + A.T, root @ root.T + np.eye(n)
    weights = np.sort(rng.uniform(1, 2, p))[::-1]
    manifold = go.GeneralizedStiefel(B, p)
    problem = base.trace_problem(A, manifold, weights)
    least = base.least_trace(A, B, weights)
    slack = 1e-10 * n * np.linalg.norm(A) * np.linalg.cond(B)
    assert least <= problem.cost(manifold.random_point(rng)) + slack
    at = scipy.linalg.eigh(A, B)[1][:, :p]
    assert abs(problem.cost(at) - least) <= slack


@pytest.mark.parametrize(("value", "truth", "error"), [(3, 2, 0.5), (-3, -2, -0.5), (0.5, 0, 0.5)])
def test_the_error_is_relative_and_signed(value, truth, error):
    assert attrs.evolve(_instance(), truth=truth).error(value) == error


def _power(problem: go.Problem, x0: Any, visit: Any, steps: int = 10_000) -> None:
    """Orthogonal iteration with the inverse of A."""
    X = x0
    for _ in range(steps):
        visit(X)
        X = np.linalg.qr(X / DIAGONAL[:, None])[0]


SHAKEN = np.linalg.qr(np.eye(6)[:, 4:] + 0.1)[0]


def test_a_domain_solver_is_stopped_counted_and_checked():
    problem = _instance().problem
    solver = gallery.domain_solver("power", _power, cites="fan1949theorem")
    points: list[Any] = []
    result = go.minimize(
        problem, SHAKEN, method=solver, callback=points.append, tol=1e-6, certify=False
    )
    assert result.success and result.method == "power" and solver.family == "other"
    assert abs(result.fun - 1.5) <= 1e-9
    assert result.njev == len(points) == result.nit + 1
    assert result.stopping_measure <= 1e-6 < points[-2].gradient_norm


@pytest.mark.parametrize(
    ("steps", "budget", "status", "count"),
    [
        (10_000, {"max_evaluations": 3}, go.Status.EVALUATION_LIMIT, 3),
        (10_000, {"max_iterations": 3}, go.Status.ITERATION_LIMIT, 4),
        (2, {}, go.Status.STALLED, 2),
        (0, {}, go.Status.STALLED, 1),  # the start, which is measured
    ],
)
def test_how_a_domain_solver_ends(steps, budget, status, count):
    """At a budget, or where it gives up: at its last iterate, or the start where it has none."""
    solver, start = gallery.domain_solver("power", partial(_power, steps=steps)), SHAKEN
    result = go.minimize(_instance().problem, start, method=solver, **budget)
    assert result.status is status and not result.success and result.njev == count
    assert steps or np.array_equal(result.x, start)


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_the_factor_bounds_the_euclidean_gradient_by_that_of_the_metric(n, seed):
    """|grad| <= |T^-1| |grad in W| (F20), up to the slack of power iteration."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    B = root @ root.T + np.eye(n)
    manifold = go.GeneralizedStiefel(B, 1)
    A = rng.standard_normal((n, n))
    problem = base.trace_problem(A + A.T, manifold)
    factor = comparison.gradient_factor(problem, "B")
    largest = np.sqrt(np.linalg.norm(B, 2))
    assert largest / 2 <= factor <= largest * (1 + 1e-12 * n)
    X = manifold.random_point(rng)
    T = manifold.metric("B")
    inside = problem.substitute(T)
    Y = T.solve(X)
    short = inside.manifold.norm(inside.manifold.gradient(Y, inside.euclidean_gradient(Y)))
    long = manifold.norm(manifold.gradient(X, problem.euclidean_gradient(X)))
    assert long <= largest * short * (1 + 1e-8) + 1e-10


@pytest.mark.parametrize(
    ("fun", "bound", "status", "word"),
    [
        (1.5, False, "CONVERGED", "solved"),
        (1.6, False, "CONVERGED", "not the minimum"),
        (1.4, False, "CONVERGED", "below the truth"),
        (1.4, True, "CONVERGED", "beaten"),
        (1.6, True, "CONVERGED", "not the minimum"),
        (1.5, False, "TIME_LIMIT", "time limit"),
    ],
)
def test_a_bound_is_beaten_and_a_minimum_met(fun, bound, status, word):
    made = attrs.evolve(_instance(), bound=bound)
    assert comparison.verdict(made, record("rtr", fun=fun, status=status)) == word
