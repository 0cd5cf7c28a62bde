"""`Task`, data in three parts with a model and its loss, and three of them, one for each manifold.

A classifier, canonical correlations, and a reduced basis.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import attrs
import numpy as np
import scipy.linalg

import genorth as go
from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.fit import fit
from genorth.linalg.arrays import Array
from genorth.training import Training

_VALIDATION, _HELD_OUT = 0.2, 0.3  # of the samples


@attrs.frozen
class Spot:
    """A constrained weight: `model.get_submodule(path).weight` holds a point of the manifold."""

    path: str
    manifold: GenOrthManifold
    #: The first point.
    start: Array = attrs.field(repr=False)


@attrs.frozen(kw_only=True, eq=False)
class Task:
    """What all methods start from; one sample is one row.

    Args:
        train: The training data.
        validation: The data that step sizes are chosen by.
        held_out: The data whose loss is reported.
        build: `build()` returns a module of PyTorch, with the global random state of PyTorch.
        spots: Its constrained weights.
        loss: `loss(model, rows)` returns the mean loss of some samples.
        dtype: "float32" or "float64".
        batch: Samples of a minibatch.
        seed: Of the first weights and of the order of the minibatches.
        beta: The penalty parameter.
    """

    train: Array = attrs.field(repr=False)
    validation: Array = attrs.field(repr=False)
    held_out: Array = attrs.field(repr=False)
    build: Callable[[], Any]
    spots: tuple[Spot, ...]
    loss: Callable[[Any, Any], Any]
    dtype: str = "float64"
    batch: int = 32
    seed: int = 0
    beta: float = 1.0

    def model(self) -> Any:
        """The model with its first weights, the same ones for the same seed."""
        import torch

        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            model = self.build().to(getattr(torch, self.dtype))
            for spot in self.spots:
                W = model.get_submodule(spot.path).weight
                how = fit(spot.manifold, W.shape, "weight")
                W.copy_(torch.as_tensor(how.array(spot.start).copy()))
        return model


def split(rows: Array) -> dict[str, Array]:
    """The samples in three parts, always the same ones: half of them are trained on."""
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    first, second = (round(share * len(rows)) for share in (_VALIDATION, _VALIDATION + _HELD_OUT))
    return {
        "validation": rows[:first],
        "held_out": rows[first:second],
        "train": rows[second:],
    }


# ---------------------------------------------------------------------- a classifier, Stiefel

_WIDTH = 32  # of the hidden layers


@cache
def _digits() -> dict[str, Array]:
    """scikit-learn's digits, 1797 pictures of 64 pixels, the label in the last column."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return split(np.column_stack([pixels / 16, labels]))


def _network() -> Any:
    from torch.nn import Linear, Sequential, Tanh

    return Sequential(
        Linear(64, _WIDTH), Tanh(), Linear(_WIDTH, _WIDTH), Tanh(), Linear(_WIDTH, 10)
    )


def _entropy(model: Any, rows: Any) -> Any:
    from torch.nn.functional import cross_entropy

    return cross_entropy(model(rows[:, :-1]), rows[:, -1].long())


def digits(seed: int) -> Task:
    """A classifier of digits whose two hidden layers have orthonormal rows."""
    wide, square = go.Stiefel(64, _WIDTH), go.Stiefel(_WIDTH, _WIDTH)
    rng = np.random.default_rng(seed)
    return Task(
        **_digits(),
        build=_network,
        spots=(
            Spot("0", wide, wide.random_point(rng)),
            Spot("2", square, square.random_point(rng)),
        ),
        loss=_entropy,
        dtype="float32",
        seed=seed,
    )


# ---------------------------------------------------------------------- correlations, generalized

_PAIRS, _HALF = 4, 32


@cache
def _halves() -> dict[str, Array]:
    """The digits without their labels, centred: the upper half of a picture, and the lower half."""
    parts = {name: rows[:, :-1] for name, rows in _digits().items()}
    mean = parts["train"].mean(axis=0)
    return {name: rows - mean for name, rows in parts.items()}


@cache
def _covariances() -> tuple[Array, Array]:
    """A and B of the training data: correlations are the eigenvalues of A x = lambda B x."""
    from sklearn.covariance import ledoit_wolf

    rows = _halves()["train"]
    one, two = rows[:, :_HALF], rows[:, _HALF:]
    cross = one.T @ two / len(rows)
    A = np.block([[np.zeros((_HALF, _HALF)), cross], [cross.T, np.zeros((_HALF, _HALF))]])
    return A, scipy.linalg.block_diag(ledoit_wolf(one)[0], ledoit_wolf(two)[0])


def _correlation(model: Any, rows: Any) -> Any:
    """Minus the mean of the correlations, -2/p tr(U^T x y^T V), X = [U; V]."""
    W = model.weight
    one, two = rows[:, :_HALF] @ W[:_HALF], rows[:, _HALF:] @ W[_HALF:]
    return -2 * (one * two).sum(dim=1).mean() / _PAIRS


def correlation(seed: int) -> Task:
    """Canonical correlations of the two halves of a digit, over X^T B X = I."""
    manifold = go.GeneralizedStiefel(_covariances()[1], _PAIRS)
    start = manifold.random_point(np.random.default_rng(seed))
    return Task(
        **_halves(),
        build=partial(_matrix, manifold.shape),
        spots=(Spot("", manifold, start),),
        loss=_correlation,
        seed=seed,
    )


def _matrix(shape: tuple[int, ...]) -> Any:
    from torch.nn import Linear

    return Linear(shape[1], shape[0], bias=False)


# ---------------------------------------------------------------------- a reduced basis, symplectic

_BASIS = 8
_CENTRES = (0.2, 0.3, 0.4, 0.5)


@cache
def _waves() -> dict[str, Array]:
    """Snapshots of pyMOR's wave equation, for bumps at four centres: two waves run and return."""
    from genorth.gallery.wave import snapshots

    rows = np.concatenate([snapshots(1.0, 1.0, centre, 0.125).to_numpy().T for centre in _CENTRES])
    return split(rows / np.sqrt(np.mean(np.sum(rows**2, axis=1))))


def _projection(phi: Callable[[Any], Any], model: Any, rows: Any) -> Any:
    """The error of the autoencoder x -> V V^+ x, V^+ = phi(V)^T, relative to |x|^2."""
    V = model.weight
    return (rows - rows @ phi(V) @ V.mT).square().sum(dim=1).mean()


def wave(seed: int) -> Task:
    """A symplectic basis that keeps as much of the waves as it can."""
    manifold = go.SymplecticStiefel(100, _BASIS)
    Q = go.Stiefel(50, _BASIS // 2).random_point(np.random.default_rng(seed))
    return Task(
        **_waves(),
        build=partial(_matrix, manifold.shape),
        spots=(Spot("", manifold, scipy.linalg.block_diag(Q, Q)),),
        loss=partial(_projection, manifold.phi),
        seed=seed,
    )


# ---------------------------------------------------------------------- all of them


@attrs.frozen
class Subject:
    """A training, with what it needs and what is known of its answer.

    Args:
        training: The training.
        modules: What it imports.
        stiefel: Whether it is on the Stiefel manifold.
        about: What it is, in a sentence.
        loss: What the loss is, in a few words.
        known: `known()` returns the held-out loss of answers that other methods give, by name.
    """

    training: Training
    modules: tuple[str, ...]
    about: str
    loss: str
    stiefel: bool = False
    known: Callable[[], dict[str, float]] = dict


def _exact() -> dict[str, float]:
    """The eigenvectors of the training data."""
    A, B = _covariances()
    _, vectors = scipy.linalg.eigh(A, B)
    return {
        "scipy.linalg.eigh on all training data": _held_out(correlation(0), vectors[:, -_PAIRS:])
    }


def _lifted() -> dict[str, float]:
    """pyMOR's symplectic bases of the training data."""
    from genorth.gallery.wave import BASES, basis, snapshots

    vectors = snapshots(1.0, 1.0, _CENTRES[0], 0.125).space.from_numpy(_waves()["train"].T)
    bases = {kind: basis(kind, vectors, _BASIS) for kind in BASES}
    return {f"pyMOR's {kind}": _held_out(wave(0), V) for kind, V in bases.items()}


def _held_out(task: Task, point: Array) -> float:
    """The held-out loss of a point, of a model that is one matrix."""
    import torch

    spot = attrs.evolve(task.spots[0], start=point)
    rows = torch.as_tensor(task.held_out, dtype=getattr(torch, task.dtype))
    with torch.no_grad():
        return float(task.loss(attrs.evolve(task, spots=(spot,)).model(), rows))


_ALL = (
    Subject(
        Training("digits", "(64,32), (32,32)", digits),
        ("sklearn",),
        "A classifier of scikit-learn's digits, whose two hidden layers have orthonormal rows "
        "(Stiefel manifold, single precision).",
        "cross entropy",
        stiefel=True,
    ),
    Subject(
        Training("correlation", "(64,4)", correlation),
        ("sklearn",),
        "Canonical correlations of the upper and the lower half of scikit-learn's digits, with the "
        "covariance of the training data in the constraint (generalized Stiefel manifold).",
        "minus the mean correlation",
        known=_exact,
    ),
    Subject(
        Training("wave", "(100,8)", wave),
        ("pymor",),
        "A symplectic basis for snapshots of pyMOR's wave equation: the autoencoder "
        "x -> V V^+ x (symplectic manifold).",
        "error of the projection, relative",
        known=_lifted,
    ),
)
#: The trainings by name.
SUBJECTS = {subject.training.problem: subject for subject in _ALL}
