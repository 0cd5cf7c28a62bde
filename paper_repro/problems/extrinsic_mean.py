"""The extrinsic mean on the indefinite Stiefel manifold: Tables 3 and 4, Figures 2 and 3."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import attrs
import numpy as np

import genorth as go
from genorth.errors import refuse
from genorth.linalg.inputs import check_size
from paper_repro.problems.base import (
    Matrix,
    PaperFigure,
    PaperInstance,
    PaperProblem,
    PaperTable,
    Variant,
    haar,
)


@attrs.frozen(eq=False, slots=False)
class ExtrinsicMean(PaperInstance):
    """The mean Y of N samples, min |X - Y|^2 over X^T B X = J.

    The cost differs from the average of |X - X_i|^2 by a constant. B is a diagonal and stays one.
    """

    B: Matrix = attrs.field(repr=False)
    signs: Matrix = attrs.field(repr=False)
    mean: Matrix = attrs.field(repr=False)
    center: Matrix = attrs.field(repr=False)
    #: The first samples, as many as were to be kept, (keep, n, p).
    samples: Matrix = attrs.field(repr=False)
    #: One more sample, not in the mean: a start as far from the others as they are.
    another: Matrix = attrs.field(repr=False)

    @classmethod
    def generate(
        cls,
        n: int,
        p: int,
        rng: Any = None,
        *,
        positive: float = 0.6,
        columns: float = 0.75,
        samples: int = 1000,
        spread: float = 0.3,
        center: str = "random",
        keep: int = 0,
        printed: bool = False,
    ) -> ExtrinsicMean:
        """X_i = Y0 diag(W1, W2), B = diag(1, ..., k, -m, ..., -1), J = diag(I, -I).

        W1 and W2 are orthogonal of sizes p_k and p - p_k. Samples lie around Y0 only if W1 and W2
        are near I: here they are Cayley transforms of skew matrices with entries of deviation
        spread/p_k^(1/2) and spread/(p - p_k)^(1/2).

        Args:
            n: Rows of a point.
            p: Columns of a point.
            rng: A seed or a Generator.
            positive: k, or its share of n where it is a float.
            columns: p_k, or its share of p where it is a float.
            samples: How many samples the mean is of.
            spread: How far the samples are from Y0.
            center: What Y0 is, which the paper does not say. "random": a random point; |Y0|
                decreases with n. "axes": unit vectors divided by |b_i|^(1/2), those with the
                smallest |b_i| of each sign. Then |Y0| does not depend on n, nor do the values of f
                in the paper's tables, which this Y0 gives with spread = 0.88.
            keep: How many samples to keep.
            printed: W1 and W2 from all orthogonal matrices, whose average is zero, and J = I (R7).

        Returns:
            The instance.

        Raises:
            ValueError: If the manifold is empty, or `center` is unknown.
        """
        manifold = cls.manifold_for(n, p, positive=positive, columns=columns, printed=printed)
        check_size(samples, samples, "samples")
        if center not in ("random", "axes"):
            refuse("center", "one of 'random', 'axes'", repr(center))
        B, signs, pk = _forms(n, p, positive, columns, printed)
        rng = np.random.default_rng(rng)
        Y0 = manifold.random_point(rng) if center == "random" else _axes(B, signs)
        parts, spread = (slice(0, pk), slice(pk, p)), math.inf if printed else spread
        mean, kept = np.empty((n, p)), np.empty((min(keep, samples), n, p))
        for part in parts:
            total = np.zeros((part.stop - part.start,) * 2)
            for i in range(samples):
                W = _rotation(len(total), spread, rng)
                total += W
                if i < keep:
                    kept[i, :, part] = Y0[:, part] @ W
            mean[:, part] = Y0[:, part] @ total / samples
        another = np.hstack(
            [Y0[:, part] @ _rotation(part.stop - part.start, spread, rng) for part in parts]
        )
        return cls(B, signs, mean, Y0, kept, another)

    @staticmethod
    def manifold_for(
        n: int,
        p: int,
        *,
        positive: float = 0.6,
        columns: float = 0.75,
        printed: bool = False,
        **_: Any,
    ) -> go.IndefiniteStiefel:
        """The indefinite Stiefel manifold of this size."""
        B, signs, _pk = _forms(n, p, positive, columns, printed)
        return go.IndefiniteStiefel(B, signs)

    @cached_property
    def manifold(self) -> go.IndefiniteStiefel:
        """The indefinite Stiefel manifold."""
        return go.IndefiniteStiefel(self.B, self.signs)

    def cost_and_gradient(self, X: Matrix) -> tuple[float, Matrix]:
        """|X - Y|^2 and 2 (X - Y)."""
        D = X - self.mean
        f = float(np.vdot(D, D))
        D *= 2
        return f, D

    def hessian(self, X: Matrix, Z: Matrix) -> Matrix:  # noqa: ARG002  the cost is quadratic
        """2 Z."""
        return 2 * Z

    def table_start(self, rng: Any) -> Matrix:  # noqa: ARG002  it belongs to the instance
        """One more sample, which the iteration counts of the paper suggest."""
        return self.another


def _forms(
    n: int, p: int, positive: float, columns: float, printed: bool
) -> tuple[Matrix, Matrix, int]:
    """B and J as diagonals, and p_k."""
    check_size(n, n, "n")
    check_size(p, n)
    k = round(positive * n) if isinstance(positive, float) else positive
    pk = round(columns * p) if isinstance(columns, float) else columns
    if not (0 <= pk <= k <= n and 0 <= p - pk <= n - k):
        need = f"p_k <= k = {k} and p - p_k <= m = {n - k}"
        refuse("columns", need, f"p_k = {pk}, p - p_k = {p - pk}")
    B = np.concatenate([np.arange(1.0, k + 1), -np.arange(float(n - k), 0, -1)])
    return B, np.where(np.arange(p) < pk, 1.0, 1.0 if printed else -1.0), pk


def _axes(B: Matrix, signs: Matrix) -> Matrix:
    """Y0 with Y0^T B Y0 = J: columns e_i/|b_i|^(1/2), b_i of the sign of j, smallest first."""
    Y0 = np.zeros((B.size, signs.size))
    for sign in (1.0, -1.0):
        columns = np.flatnonzero(signs == sign)
        rows = np.flatnonzero(np.sign(B) == sign)
        rows = rows[np.argsort(np.abs(B[rows]), kind="stable")][: columns.size]
        Y0[rows, columns] = 1 / np.sqrt(np.abs(B[rows]))
    return Y0


def _rotation(p: int, spread: float, rng: np.random.Generator) -> Matrix:
    """A random orthogonal matrix: any (spread = inf), or (I - S/2)^-1 (I + S/2), S skew."""
    if math.isinf(spread):
        return haar(p, rng)
    T = rng.standard_normal((p, p)) * (spread / math.sqrt(2 * p))
    eye = np.eye(p)
    return 2 * np.linalg.inv(eye - (T - T.T) / 2) - eye


def _variants(columns: float) -> dict[str, Variant]:
    """Both have Y0 of unit vectors, and a share `columns` of columns with the sign +1."""
    common = {"columns": columns, "center": "axes", "spread": 0.88}
    corrected = (
        "Corrected (erratum R7): J = diag(I, -I), samples near Y0. Y0 consists of multiples of "
        "unit vectors and the start is one more sample; the paper leaves both open, and its values "
        "of f and iteration counts suggest them."
    )
    printed = (
        "As printed (erratum R7): J = I and samples from all rotations, which average to zero."
    )
    return {
        "corrected": Variant(corrected, common | {"printed": False}),
        "printed": Variant(printed, common | {"printed": True}),
    }


PROBLEM = PaperProblem(
    name="extrinsic mean",
    title="Extrinsic mean of 1000 samples on the indefinite Stiefel manifold",
    instance=ExtrinsicMean,
    numbers=("n", "p"),
    beta=0.5,
    tables=(
        PaperTable(
            number=3,
            sizes={"(1000,20)": (1000, 20), "(5000,20)": (5000, 20), "(10000,20)": (10000, 20)},
            **_variants(0.75),
        ),
        PaperTable(
            number=4,
            seconds=15.0,
            sizes={"(1000,10)": (1000, 10), "(1000,500)": (1000, 500), "(1000,1000)": (1000, 1000)},
            **_variants(0.6),
        ),
    ),
    figures=(
        PaperFigure(
            number=2,
            kind="sample_errors",
            caption="Extrinsic mean at (1000,10), as the caption of the paper has it (its text "
            "says 1000 x 100), solved by CDFCG (cdf-cg): distance of the start and of the solution "
            "from 100 of the 1000 samples.",
            sizes=((1000, 10),),
        ),
        PaperFigure(
            number=3,
            kind="iteration_times",
            caption="Extrinsic mean: where the time of 100 iterations goes, by size; gradient: "
            "Euclidean and Riemannian, or that of h.",
            sizes=((1000, 10), (1000, 20), (1000, 100), (1000, 500), (1000, 1000)),
        ),
    ),
    like=4,
    toy=(10, 5),
    cheap={"samples": 20},
    differs="Y0, the spread of the samples and the start are not in the paper (erratum R7): Y0 of "
    "unit vectors and a spread of 0.88 were chosen by its values of f at p = 10, 20 and 500. From "
    "such a start the rows in which Y0 is zero stay zero, so for p < n all solvers end at a saddle "
    "point; from a random point lower values are found.",
)
