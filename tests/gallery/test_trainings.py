"""The trainings of `genorth train`: data and losses are what they say."""

import math
from functools import cache

import numpy as np
import pytest
import scipy.linalg

from genorth.gallery.stochastic import tasks
from genorth.gallery.stochastic.comparison import reasons
from genorth.gallery.stochastic.tasks import SUBJECTS, Task

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("sklearn", reason="the extra `gallery` is not installed")

from genorth.gallery.stochastic import methods as ways  # noqa: E402  torch

TASKS = [name for name, reason in reasons().items() if reason is None]


@cache
def task(name: str, seed: int = 0) -> Task:
    return SUBJECTS[name].training.make(seed)


def unit(name: str) -> float:
    return float(torch.finfo(getattr(torch, task(name).dtype)).eps)


# ---------------------------------------------------------------------- data and losses


@pytest.mark.parametrize("name", TASKS)
def test_data_is_split_once_and_starts_differ_by_seed(name):
    one, two = task(name), task(name, 1)
    if one.batch > 1:
        for part in ("train", "validation", "held_out"):
            np.testing.assert_array_equal(getattr(one, part), getattr(two, part))
        counts = [len(part) for part in (one.train, one.validation, one.held_out)]
        np.testing.assert_allclose(np.divide(counts, sum(counts)), [0.5, 0.2, 0.3], atol=0.01)
    else:  # another problem
        assert np.linalg.norm(one.held_out - two.held_out) > 0.1 * np.linalg.norm(one.held_out)
    assert np.linalg.norm(one.spots[0].start - two.spots[0].start) > 0.1
    weights = [torch.nn.utils.parameters_to_vector(one.model().parameters()) for _ in range(2)]
    assert torch.equal(*weights)


def test_symbols_are_asked_for_after_the_delay():
    """The loss, written out for one sequence, symbol by symbol."""
    model, symbols = task("recall").model(), task("recall").held_out[:1]
    U, W = model["input"].weight.detach().numpy(), model["state"].weight.detach().numpy()
    V, b = (value.detach().numpy() for value in model["output"].parameters())
    tokens = [*symbols[0].astype(int), *[tasks._SYMBOLS] * (tasks._DELAY - 1), tasks._SYMBOLS + 1]
    h, lost = np.zeros(len(W)), []
    for token in tokens:
        h = W @ h + U[token]
    for symbol in symbols[0].astype(int):
        h = W @ h + U[tasks._SYMBOLS]
        scores = V @ h + b
        lost.append(np.log(np.sum(np.exp(scores))) - scores[symbol])
    found = task("recall").loss(model, torch.as_tensor(symbols))
    np.testing.assert_allclose(found.item(), np.mean(lost), rtol=1e-4)


def test_marked_numbers_are_added():
    """The loss, written out for one sequence, number by number."""
    model, pairs = task("adding").model(), task("adding").held_out[0]
    U, b, W, V, c = (value.detach().numpy() for value in model.parameters())
    h = np.zeros(len(W))
    for pair in pairs:
        h = np.abs(W @ h + U @ pair + b)
    assert pairs[:, 1].tolist().count(1) == 2 and set(pairs[:, 1]) == {0, 1}
    found = task("adding").loss(model, torch.as_tensor(pairs[None], dtype=torch.float32))
    np.testing.assert_allclose(
        found.item(), (V @ h + c - pairs[:, 0] @ pairs[:, 1]) ** 2, rtol=1e-4
    )


def test_the_transformer_sees_patches():
    """Without places their order does not matter; that of pixels in a patch does."""
    model = task("transformer").model()
    with torch.no_grad():
        model.places.zero_()
    rows = torch.as_tensor(task("transformer").held_out[:50], dtype=torch.float32)
    pictures = rows[:, :-1].reshape(-1, 8, 8)

    def loss(pixels):
        found = torch.cat([pixels.reshape(-1, 64), rows[:, -1:]], dim=1)
        return task("transformer").loss(model, found).item()

    first = loss(pictures)
    assert loss(pictures.roll((2, 4), dims=(1, 2))) == pytest.approx(first, rel=1e-4)
    assert loss(pictures.roll(1, dims=2)) != pytest.approx(first, rel=1e-4)


@pytest.mark.parametrize("name", ["pca", "pca-printed", "procrustes"])
def test_problems_of_papers_have_loss_zero_at_their_solutions(name):
    """And more elsewhere; the condition is that of D where A = Q D Q^T, not for A = Q D Q."""
    given = task(name)
    if name == "procrustes":
        A, B = given.held_out
        U, _, V = np.linalg.svd(B @ A.T)
        X = U @ V
        assert np.linalg.det(X) > 0 and np.linalg.det(given.spots[0].start) > 0
    else:
        values, vectors = np.linalg.eigh(given.held_out)
        X = vectors[:, -given.spots[0].manifold.shape[1] :]
        corrected = values[0] > 0 and math.isclose(values[-1] / values[0], 1e3, rel_tol=1e-8)
        assert corrected == (name == "pca")
    assert abs(with_point(name, X).losses()[1]) <= 1e3 * unit(name)
    assert with_point(name, given.spots[0].start).losses()[1] > 0.1


def with_point(name: str, X: np.ndarray) -> "ways.TorchLearner":
    model = task(name).model()
    with torch.no_grad():
        model.weight.copy_(torch.as_tensor(X))
    return ways.TorchLearner(task(name), model)


def test_the_correlations_are_the_eigenvalues_of_the_training_data():
    """The loss is minus their mean, at the eigenvectors and for the training data."""
    rows, B = task("cca").train, task("cca").spots[0].manifold
    cross = rows[:, :32].T @ rows[:, 32:] / len(rows)
    A = np.block([[np.zeros((32, 32)), cross], [cross.T, np.zeros((32, 32))]])
    values, vectors = scipy.linalg.eigh(A, B.phi(np.eye(64)))
    model = task("cca").model()
    with torch.no_grad():
        model.weight.copy_(torch.as_tensor(vectors[:, -4:].copy()))
        found = float(task("cca").loss(model, torch.as_tensor(rows)))
    np.testing.assert_allclose(found, -np.mean(values[-4:]), rtol=1e-10)
    (exact,) = SUBJECTS["cca"].known().values()
    assert with_point("cca", vectors[:, -4:]).losses()[1] == pytest.approx(exact, rel=1e-10)


@pytest.mark.skipif("autoencoder" not in TASKS, reason="the extra `gallery` is not installed")
def test_the_wave_is_projected():
    """|x - V V^+ x|^2, where |x|^2 is 1 in the mean; the bases of pyMOR do better."""
    given = task("autoencoder")
    M, V = given.spots[0].manifold, given.spots[0].start
    rows, every = given.held_out, [given.train, given.validation, given.held_out]
    E = rows - (V @ (M.phi(V).T @ rows.T)).T
    expected = np.sum(E**2) / len(rows)
    np.testing.assert_allclose(with_point("autoencoder", V).losses()[1], expected, rtol=1e-10)
    np.testing.assert_allclose(np.mean(np.sum(np.concatenate(every) ** 2, axis=1)), 1.0)
    assert all(0 < loss < expected for loss in SUBJECTS["autoencoder"].known().values())
