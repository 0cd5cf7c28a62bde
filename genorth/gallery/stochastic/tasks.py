"""`Task`, data in three parts with a model and its loss, and what is trained.

Recurrent networks that remember and add, a vision transformer, canonical correlations, a symplectic
autoencoder, and two problems of papers, principal components and Procrustes.
"""

from __future__ import annotations

import math
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
        free: The step size of weights on no manifold, the same for all methods.
    """

    train: Array = attrs.field(repr=False)
    validation: Array = attrs.field(repr=False)
    held_out: Array = attrs.field(repr=False)
    build: Callable[[], Any]
    spots: tuple[Spot, ...]
    loss: Callable[[Any, Any], Any]
    dtype: str = "float64"
    batch: int = 90
    seed: int = 0
    beta: float = 1.0
    free: float = 1e-2

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


# ---------------------------------------------------------------------- recurrent nets, Stiefel

_SYMBOLS, _LENGTH, _DELAY, _STATE = 8, 5, 20, 32
_TERMS = 20


def rotation(n: int, rng: np.random.Generator) -> Array:
    """A random orthogonal matrix of determinant one, as geotorch starts from no other."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    Q[:, 0] *= np.sign(np.linalg.det(Q))
    return np.asarray(Q)


def _sequences(rows: Array, build: Callable[[], Any], loss: Any, batch: int, seed: int) -> Task:
    start = rotation(_STATE, np.random.default_rng(seed))
    return Task(
        **split(rows),
        build=build,
        spots=(Spot("state", go.Stiefel(_STATE, _STATE), start),),
        loss=loss,
        dtype="float32",
        batch=batch,
        seed=seed,
    )


def _recurrent(inputs: Any, outputs: int) -> Any:
    """h <- W h + U x with an orthogonal W, and a linear output [henaff2016recurrent]."""
    from torch.nn import Linear, ModuleDict

    state = Linear(_STATE, _STATE, bias=False)
    return ModuleDict({"input": inputs, "state": state, "output": Linear(_STATE, outputs)})


def _states(model: Any, tokens: Any, bent: bool) -> list[Any]:
    """h after each of the tokens; bent: h <- |W h + U x|, which keeps the norm as W does."""
    inputs, W = model["input"](tokens), model["state"].weight.mT
    states = [0 * inputs[0]]
    for given in inputs:
        h = given.addmm(states[-1], W)
        states.append(h.abs() if bent else h)
    return states


def _speller() -> Any:
    import torch

    inputs = torch.randn(_SYMBOLS + 2, _STATE) / math.sqrt(_STATE)
    return _recurrent(torch.nn.Embedding.from_pretrained(inputs, freeze=False), _SYMBOLS)


def _recalled(model: Any, rows: Any) -> Any:
    """The cross entropy of the symbols, which are asked for after the delay."""
    import torch

    symbols = rows.long()
    tokens = symbols.new_full((2 * _LENGTH + _DELAY, len(rows)), _SYMBOLS)
    tokens[:_LENGTH], tokens[_LENGTH + _DELAY - 1] = symbols.T, _SYMBOLS + 1
    found = model["output"](torch.stack(_states(model, tokens, False)[-_LENGTH:], dim=1))
    return torch.nn.functional.cross_entropy(found.flatten(0, 1), symbols.flatten())


def recall(seed: int) -> Task:
    """Copy-memory: five of eight symbols are repeated after twenty steps [henaff2016recurrent]."""
    symbols = np.random.default_rng(0).integers(_SYMBOLS, size=(1600, _LENGTH))
    return _sequences(symbols.astype(float), _speller, _recalled, 80, seed)


def _adder() -> Any:
    from torch.nn import Linear

    return _recurrent(Linear(2, _STATE), 1)


def _added(model: Any, rows: Any) -> Any:
    """The squared error of the sum of the values that are marked."""
    found = model["output"](_states(model, rows.transpose(0, 1), True)[-1])[:, 0]
    return (found - rows.prod(dim=2).sum(dim=1)).square().mean()


def adding(seed: int) -> Task:
    """Two of twenty values in (0, 1) are marked, one in each half [henaff2016recurrent]."""
    rng = np.random.default_rng(0)
    marks = np.eye(_TERMS // 2)[rng.integers(_TERMS // 2, size=(4000, 2))].reshape(-1, _TERMS)
    return _sequences(np.stack([rng.random(marks.shape), marks], -1), _adder, _added, 20, seed)


# ---------------------------------------------------------------------- a transformer, Stiefel

_WIDTH, _PATCH, _HEADS = 16, 2, 2
_MAPS = ("query", "key", "value", "mixed")


@cache
def _digits() -> dict[str, Array]:
    """scikit-learn's digits, 1797 pictures of 64 pixels, the label in the last column."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return split(np.column_stack([pixels / 16, labels]))


def _transformer() -> Any:
    """One block of attention and a classifier of the mean of the patches."""
    import torch
    from torch.nn import LayerNorm, Linear, ModuleDict

    model = ModuleDict(
        {
            "embed": Linear(_PATCH**2, _WIDTH),
            **{name: Linear(_WIDTH, _WIDTH, bias=False) for name in _MAPS},
            "norm": LayerNorm(_WIDTH),
            "wide": Linear(_WIDTH, 2 * _WIDTH),
            "narrow": Linear(2 * _WIDTH, _WIDTH),
            "output": Linear(_WIDTH, 10),
        }
    )
    places = torch.randn((8 // _PATCH) ** 2, _WIDTH) / math.sqrt(_WIDTH)
    model.register_parameter("places", torch.nn.Parameter(places))
    return model


def _seen(model: Any, rows: Any) -> Any:
    """The cross entropy of the digits."""
    from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

    side, count = 8 // _PATCH, len(rows)
    pixels = rows[:, :-1].reshape(count, side, _PATCH, side, _PATCH).transpose(2, 3)
    x = model["embed"](pixels.reshape(count, side**2, _PATCH**2)) + model.places
    heads = [model[name](x).unflatten(-1, (_HEADS, -1)).transpose(1, 2) for name in _MAPS[:3]]
    y = scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
    x = model["norm"](x + model["mixed"](y))
    x = x + model["narrow"](gelu(model["wide"](x)))
    return cross_entropy(model["output"](x.mean(dim=1)), rows[:, -1].long())


def transformer(seed: int) -> Task:
    """A vision transformer on digits, with orthogonal maps around its attention."""
    rng, manifold = np.random.default_rng(seed), go.Stiefel(_WIDTH, _WIDTH)
    return Task(
        **_digits(),
        build=_transformer,
        spots=tuple(Spot(name, manifold, rotation(_WIDTH, rng)) for name in _MAPS),
        loss=_seen,
        dtype="float32",
        batch=30,
        free=0.05,
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


def cca(seed: int) -> Task:
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


# ---------------------------------------------------------------------- an autoencoder, symplectic

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


def autoencoder(seed: int) -> Task:
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


# ---------------------------------------------------------------------- problems of papers, Stiefel

_STEPS = 12  # of an epoch, where the gradient is that of all data


def _whole(seed: int, A: Array, loss: Callable[[Any, Any], Any], start: Array) -> Task:
    """A problem without samples, drawn from the seed: step sizes are chosen by other problems.

    Args:
        seed: The seed.
        A: What tells it from others.
        loss: `loss(X, rows)`, where the rows say nothing.
        start: The first point.
    """
    nothing = np.zeros((_STEPS, 1))
    return Task(
        train=nothing,
        validation=nothing[:1],
        held_out=A,
        build=partial(_matrix, start.shape),
        spots=(Spot("", go.Stiefel(*start.shape), start),),
        loss=loss,
        dtype="float32",
        batch=1,
        seed=seed,
    )


def components(seed: int, *, printed: bool = False, n: int = 60, p: int = 45) -> Task:
    """Principal components, A of condition 1000; at (2000, 1500) in [han2025efficient].

    The published code has Q D Q in place of Q D Q^T: half of its eigenvalues are negative. The loss
    is f/|f*| + 1, f = -tr(X^T A X)/2, its distance from the minimum f*.
    """
    rng = np.random.default_rng(seed)
    Q = rotation(n, rng)
    A = (Q * np.geomspace(0.01, 10.0, n)) @ (Q if printed else Q.T)
    A = (A + A.T) / 2
    A /= np.sum(np.linalg.eigvalsh(A)[-p:])
    return _whole(seed, A, partial(_trace, A), rotation(n, rng)[:, :p])


def _trace(A: Array, model: Any, rows: Any) -> Any:  # noqa: ARG001
    X = model.weight
    return 1 - (X * (X.new_tensor(A) @ X)).sum()


def procrustes(seed: int, *, n: int = 48) -> Task:
    """Orthogonal Procrustes, |X A - B|^2, A and B Gaussian; at n = 2000 in [han2025efficient].

    The published code draws a start of either determinant, which curves keep. Here it is that of
    the solution. The loss is f/f* - 1, f* the minimum.
    """
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, n, n))
    U, _, V = np.linalg.svd(B @ A.T)
    B[0] *= np.sign(np.linalg.det(U @ V))
    least = np.sum(A**2) + np.sum(B**2) - 2 * np.linalg.svd(B @ A.T, compute_uv=False).sum()
    A, B = A / math.sqrt(least), B / math.sqrt(least)
    return _whole(seed, np.stack([A, B]), partial(_distance, A, B), rotation(n, rng))


def _distance(A: Array, B: Array, model: Any, rows: Any) -> Any:  # noqa: ARG001
    X = model.weight
    return (X @ X.new_tensor(A) - X.new_tensor(B)).square().sum() - 1


# ---------------------------------------------------------------------- all of them


@attrs.frozen
class Subject:
    """A training, with what it needs and what is known of its answer.

    Args:
        training: The training.
        modules: What it imports.
        about: What it is, in a sentence.
        loss: What the loss is, in a few words.
        kinds: "all", and "stiefel" if it is on the Stiefel manifold, "free" if the loss is bounded
            without the constraint.
        known: `known()` returns the held-out loss of answers that other methods give, by name.
    """

    training: Training
    modules: tuple[str, ...]
    about: str
    loss: str
    kinds: tuple[str, ...] = ("all", "stiefel", "free")
    known: Callable[[], dict[str, float]] = dict


def _exact() -> dict[str, float]:
    """The eigenvectors of the training data."""
    A, B = _covariances()
    _, vectors = scipy.linalg.eigh(A, B)
    return {"scipy.linalg.eigh on all training data": _held_out(cca(0), vectors[:, -_PAIRS:])}


def _lifted() -> dict[str, float]:
    """pyMOR's symplectic bases of the training data."""
    from genorth.gallery.wave import BASES, basis, snapshots

    vectors = snapshots(1.0, 1.0, _CENTRES[0], 0.125).space.from_numpy(_waves()["train"].T)
    return {
        f"pyMOR's {kind}": _held_out(autoencoder(0), basis(kind, vectors, _BASIS)) for kind in BASES
    }


def _held_out(task: Task, point: Array) -> float:
    """The held-out loss of a point, of a model that is one matrix."""
    import torch

    spot = attrs.evolve(task.spots[0], start=point)
    rows = torch.as_tensor(task.held_out, dtype=getattr(torch, task.dtype))
    with torch.no_grad():
        return float(task.loss(attrs.evolve(task, spots=(spot,)).model(), rows))


_SUBJECTS = (
    Subject(
        Training("recall", f"({_STATE},{_STATE})", recall),
        (),
        "Copy-memory: a linear recurrent network with an orthogonal matrix repeats five of eight "
        "symbols, drawn at random, after twenty steps (Stiefel manifold, single precision).",
        "cross entropy",
    ),
    Subject(
        Training("adding", f"({_STATE},{_STATE})", adding),
        (),
        "Adding: a recurrent network h <- |W h + U x| with an orthogonal matrix W adds the two of "
        "twenty random numbers that are marked (Stiefel manifold, single precision).",
        "squared error",
    ),
    Subject(
        Training("transformer", f"4 of ({_WIDTH},{_WIDTH})", transformer),
        ("sklearn",),
        "A vision transformer on scikit-learn's digits, whose four maps around the attention are "
        "orthogonal (Stiefel manifold, single precision).",
        "cross entropy",
    ),
    Subject(
        Training("cca", "(64,4)", cca),
        ("sklearn",),
        "Canonical correlations of the upper and the lower half of scikit-learn's digits, with "
        "the covariance of the training data in the constraint (generalized Stiefel manifold).",
        "minus the mean correlation",
        kinds=("all",),
        known=_exact,
    ),
    Subject(
        Training("autoencoder", "(100,8)", autoencoder),
        ("pymor",),
        "The symplectic autoencoder x -> V V^+ x of snapshots of pyMOR's wave equation (symplectic "
        "manifold).",
        "error of the projection, relative",
        kinds=("all", "free"),
        known=_lifted,
    ),
    Subject(
        Training("pca", "(60,45)", components),
        (),
        "Principal components of a matrix of condition 1000, as in RSDM and POGO, corrected "
        "(Stiefel manifold, full gradients, single precision).",
        "distance from the minimum, relative",
        kinds=("all", "stiefel"),
    ),
    Subject(
        Training("pca-printed", "(60,45)", partial(components, printed=True)),
        (),
        "The same with the indefinite matrix Q D Q of the published code.",
        "distance from the minimum, relative",
        kinds=("all", "stiefel"),
    ),
    Subject(
        Training("procrustes", "(48,48)", procrustes),
        (),
        "Orthogonal Procrustes, as in RSDM and POGO, from a start of the right determinant "
        "(Stiefel manifold, full gradients, single precision).",
        "distance from the minimum, relative",
        kinds=("all", "stiefel"),
    ),
)
#: The trainings by name.
SUBJECTS = {subject.training.problem: subject for subject in _SUBJECTS}
