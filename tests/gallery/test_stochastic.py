"""The stochastic comparison: all methods start alike, losses are what they say, the command."""

import html
import warnings
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
import scipy.linalg

from genorth import training
from genorth.gallery.commands import main
from genorth.gallery.stochastic import comparison
from genorth.gallery.stochastic.tasks import SUBJECTS, Task
from genorth.training import Method

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of torch.jit, at the import of geoopt
    with suppress(ImportError):
        import geoopt  # noqa: F401
torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("sklearn", reason="the extra `gallery` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")

from genorth.gallery.stochastic.methods import TorchLearner, methods  # noqa: E402  torch

TASKS = [name for name, reason in comparison.reasons().items() if reason is None]
RATE = 0.01


@cache
def task(name: str, seed: int = 0) -> Task:
    return SUBJECTS[name].training.make(seed)


def all_methods(name: str) -> list[Method]:
    stiefel = tuple(each for each, subject in SUBJECTS.items() if subject.stiefel)
    return [each for each in methods(stiefel) if each.only is None or name in each.only]


CASES = [(name, method) for name in TASKS for method in all_methods(name)]
every_case = pytest.mark.parametrize(
    ("name", "method"), CASES, ids=[f"{name}-{method.name}" for name, method in CASES]
)


def unit(name: str) -> float:
    return float(torch.finfo(getattr(torch, task(name).dtype)).eps)


@every_case
def test_a_method_starts_where_all_start_and_ends_on_the_manifold(name, method):
    """The same first weights and minibatches; |C| to rounding; a loss that falls."""
    learner, model = method.start(task(name), RATE), task(name).model()
    plain = TorchLearner(task(name), model, None)
    np.testing.assert_allclose(learner.losses(), plain.losses(), rtol=1e3 * unit(name))
    assert learner.feasibility() <= 1e3 * unit(name)
    first = learner.losses()
    for one, two in zip(learner.batches(), plain.batches(), strict=True):
        assert torch.equal(one, two)
        learner.step(one)
    learner.finish()
    assert learner.feasibility() <= 1e3 * unit(name)
    assert learner.losses() < first


@every_case
def test_only_the_constrained_weights_have_the_step_size(name, method):
    """With a step size of almost nothing they stay, and the other weights are trained as ever."""
    learner = method.start(task(name), 1e-12)
    W = [
        learner._model.get_submodule(spot.path).weight.detach().clone() for spot in task(name).spots
    ]
    before = learner.losses()[0]
    for batch in learner.batches():
        learner.step(batch)
    for spot, first in zip(task(name).spots, W, strict=True):
        now = learner._model.get_submodule(spot.path).weight.detach()
        assert float(torch.dist(now, first)) <= 1e-3 * float(first.norm())
    assert (learner.losses()[0] < before - 0.1) == (name == "digits")


@pytest.mark.parametrize("name", TASKS)
def test_data_is_split_once_and_starts_differ_by_seed(name):
    one, two = task(name), task(name, 1)
    for part in ("train", "validation", "held_out"):
        np.testing.assert_array_equal(getattr(one, part), getattr(two, part))
    rows = np.concatenate([one.train, one.validation, one.held_out])
    shares = [len(part) / len(rows) for part in (one.train, one.validation, one.held_out)]
    np.testing.assert_allclose(shares, [0.5, 0.2, 0.3], atol=0.01)
    assert np.linalg.norm(one.spots[0].start - two.spots[0].start) > 0.1
    weights = [torch.nn.utils.parameters_to_vector(one.model().parameters()) for _ in range(2)]
    assert torch.equal(*weights)


def with_point(name: str, X: np.ndarray) -> TorchLearner:
    model = task(name).model()
    with torch.no_grad():
        model.weight.copy_(torch.as_tensor(X))
    return TorchLearner(task(name), model, None)


def test_the_correlations_are_the_eigenvalues_of_the_training_data():
    """The loss is minus their mean, at the eigenvectors and for the training data."""
    rows, B = task("correlation").train, task("correlation").spots[0].manifold
    cross = rows[:, :32].T @ rows[:, 32:] / len(rows)
    A = np.block([[np.zeros((32, 32)), cross], [cross.T, np.zeros((32, 32))]])
    values, vectors = scipy.linalg.eigh(A, B.phi(np.eye(64)))
    model = task("correlation").model()
    with torch.no_grad():
        model.weight.copy_(torch.as_tensor(vectors[:, -4:].copy()))
        found = float(task("correlation").loss(model, torch.as_tensor(rows)))
    np.testing.assert_allclose(found, -np.mean(values[-4:]), rtol=1e-10)
    (exact,) = SUBJECTS["correlation"].known().values()
    assert with_point("correlation", vectors[:, -4:]).losses()[1] == pytest.approx(exact, rel=1e-10)


@pytest.mark.skipif("wave" not in TASKS, reason="the extra `gallery` is not installed")
def test_the_wave_is_projected():
    """|x - V V^+ x|^2, where |x|^2 is 1 in the mean; the bases of pyMOR do better."""
    given = task("wave")
    M, V = given.spots[0].manifold, given.spots[0].start
    rows, every = given.held_out, [given.train, given.validation, given.held_out]
    E = rows - (V @ (M.phi(V).T @ rows.T)).T
    expected = np.sum(E**2) / len(rows)
    np.testing.assert_allclose(with_point("wave", V).losses()[1], expected, rtol=1e-10)
    np.testing.assert_allclose(np.mean(np.sum(np.concatenate(every) ** 2, axis=1)), 1.0)
    assert all(0 < loss < expected for loss in SUBJECTS["wave"].known().values())


# ---------------------------------------------------------------------- the command

TINY = ["stochastic", "digits", "--epochs", "1", "--starts", "1", "--rates", "0.01", "--jobs", "1"]


def test_the_command_writes_tables_and_the_report(tmp_path, capsys):
    assert main([*TINY, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    names = [method.name for method in all_methods("digits")]
    assert all(name in out for name in names) and "Report: " in out
    page = html.unescape((tmp_path / "report.html").read_text("utf-8"))
    assert all(name in page for name in names) and SUBJECTS["digits"].about in page
    before = (tmp_path / "records" / "records.jsonl").read_bytes()
    assert main([*TINY, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "records" / "records.jsonl").read_bytes() == before
    records = training.load(tmp_path / "records")
    assert all(record.success for record in records) and set(comparison.look(records)) == set(names)


def test_what_is_wrong_is_told(tmp_path, monkeypatch, capsys):
    assert main(["stochastic", "letters", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("error: name: need one of 'digits'")
    assert main([*TINY, "--epochs", "0", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: epochs: need ")
    with pytest.raises(ValueError, match="out: need a folder"):
        comparison.report(tmp_path / "nothing")
    monkeypatch.setattr(comparison, "installed", lambda module: module != "torch")
    assert main([*TINY, "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == "error: digits needs torch: pip install 'genorth[torch]'\n"
