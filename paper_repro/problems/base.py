"""`PaperProblem`: the record in which a problem file describes itself.

And `PaperInstance`, the base class of what its generator makes.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

import attrs
import numpy as np

import genorth as go
from genorth.errors import refuse

Matrix = np.ndarray[Any, Any]
Numbers = tuple[int, ...]


class PaperInstance(abc.ABC):
    """One random instance of a problem: data, the cost with its gradient, the Hessian product."""

    @classmethod
    @abc.abstractmethod
    def generate(cls, *numbers: Any, **arguments: Any) -> Self:
        """The instance of these numbers and this `rng`."""

    @staticmethod
    @abc.abstractmethod
    def manifold_for(*numbers: Any, **arguments: Any) -> go.GenOrthManifold:
        """The manifold of these numbers, without the instance; a ValueError where there is none."""

    @property
    @abc.abstractmethod
    def manifold(self) -> go.GenOrthManifold:
        """The manifold."""

    @abc.abstractmethod
    def cost_and_gradient(self, X: Matrix) -> tuple[float, Matrix]:
        """f and its Euclidean gradient."""

    @abc.abstractmethod
    def hessian(self, X: Matrix, Z: Matrix) -> Matrix:
        """The Euclidean Hessian of f at X, applied to Z."""

    def table_start(self, rng: Any) -> Matrix:
        """Where all solvers of the paper's tables start: a random point by default."""
        return self.start(rng)

    def start(self, rng: Any = None) -> Matrix:
        """A random point of the manifold."""
        return self.manifold.random_point(rng)

    def problem(self) -> go.Problem:
        """The problem, for any solver."""
        return go.Problem(
            self.manifold,
            euclidean_hessian=self.hessian,
            cost_and_gradient=self.cost_and_gradient,
            name=f"{type(self).__name__} {named(self.manifold.shape)}",
        )


@attrs.frozen
class Size:
    """One block of a table or figure: its name there, and all that its instances are made of."""

    name: str
    numbers: Numbers
    instance: type[PaperInstance]
    #: Further arguments of the generator, as pairs.
    arguments: tuple[tuple[str, Any], ...] = ()
    #: Joined with the seed: tables with a size in common have different instances, as in the paper.
    stream: int = 0

    def generated(self, seed: int = 0) -> PaperInstance:
        """The instance of a seed."""
        return _generated(self, seed)

    def problem(self, seed: int) -> go.Problem:
        """The problem of a seed."""
        return self.generated(seed).problem()

    def start(self, problem: go.Problem, seed: int) -> Matrix:  # noqa: ARG002  as compare calls it
        """Where all solvers start, drawn independently of the instance."""
        return self.generated(seed).table_start([seed, self.stream, 1])

    def evolve(self, **arguments: Any) -> Size:
        """The same with other arguments of the generator."""
        return attrs.evolve(self, arguments=tuple((dict(self.arguments) | arguments).items()))


# Problem and start share one instance; a large one is kept no longer than needed.
@lru_cache(maxsize=1)
def _generated(size: Size, seed: int) -> PaperInstance:
    return size.instance.generate(*size.numbers, [seed, size.stream], **dict(size.arguments))


@attrs.frozen
class Variant:
    """The instances of a table, corrected or as printed: a note, and the generator's arguments."""

    note: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class PaperTable:
    """A table of the paper: its sizes by name, and how its instances are made."""

    number: int
    sizes: Mapping[str, Numbers]
    corrected: Variant
    printed: Variant
    #: Seconds of each run of a full comparison.
    seconds: float = 10.0
    #: On the paper's figures in this table alone.
    remark: str = ""


@attrs.frozen(kw_only=True)
class PaperFigure:
    """A figure of the paper; `kind` is a module of `paper_repro.figures`.

    The paper does not give the sizes of Figures 1 and 3.
    """

    number: int
    kind: str
    caption: str
    sizes: Sequence[Numbers]


@attrs.frozen(kw_only=True, eq=False)
class PaperProblem:
    """A problem of the paper; each file of `paper_repro.problems` has one, named `PROBLEM`.

    Args:
        name: What the command line and the records call it.
        title: What captions begin with.
        instance: The class of its instances.
        numbers: The names of the numbers that make a size, as ("n", "p").
        beta: The penalty parameter of the paper.
        tables: Its tables.
        figures: Its figures.
        like: The table whose instances those of figures and of other sizes are like.
        toy: A size that takes no time.
        cheap: Arguments of the generator where only the time of an iteration matters.
        differs: What the paper's figures leave open, and why ours differ.
    """

    name: str
    title: str
    instance: type[PaperInstance]
    numbers: tuple[str, ...]
    beta: float
    tables: Sequence[PaperTable]
    figures: Sequence[PaperFigure] = ()
    like: int
    toy: Numbers
    cheap: Mapping[str, Any] = attrs.field(factory=dict)
    differs: str

    @property
    def group(self) -> str:
        """The problem with its tables: "Matching (Tables 1, 2)"."""
        return f"{self.name.capitalize()} (Tables {', '.join(str(t.number) for t in self.tables)})"

    def sizes(
        self, numbers: Iterable[Sequence[int]], table: int | None = None, printed: bool = False
    ) -> tuple[Size, ...]:
        """Sizes of a user's own, with instances as in a table (by default `like`).

        Raises:
            ValueError: If there is no manifold of such a size.
        """
        number = table or self.like
        chosen = next(table for table in self.tables if table.number == number)
        arguments = (chosen.printed if printed else chosen.corrected).arguments
        made = []
        for size in map(tuple, numbers):
            if len(size) != len(self.numbers):
                formula = f"{len(self.numbers)} numbers {','.join(self.numbers)} for {self.name}"
                refuse("sizes", formula, named(size))
            self.instance.manifold_for(*size, **arguments)
            made.append(Size(named(size), size, self.instance, tuple(arguments.items()), number))
        return tuple(made)


def named(numbers: Iterable[int]) -> str:
    """(1000,20), as the paper writes a size."""
    return f"({','.join(map(str, numbers))})"


def haar(n: int, rng: np.random.Generator) -> Matrix:
    """A random orthogonal matrix, Haar distributed."""
    Q, R = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray(Q * np.sign(np.diag(R)))
