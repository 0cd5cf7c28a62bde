"""networkx: balanced cuts of its graphs, relaxed to orthonormal vectors [fiedler1973algebraic].

    min tr(X^T L X),  X^T X = I, 1^T X = 0

L is the Laplacian of the graph. A vector of signs with sum zero is a cut into halves, and x^T L x
counts its edges; each column of X stands for one. The balance is a linear equation for each column.
The minimum is the sum of the smallest eigenvalues of L without the first.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, trace_problem
from genorth.linalg.arrays import Array


def _cut(name: str, p: int, *arguments: int) -> Instance:
    import networkx

    graph = getattr(networkx, f"{name}_graph")(*arguments)
    L = np.asarray(networkx.laplacian_matrix(graph).toarray(), float)
    M = go.Stiefel(len(L), p)
    balance = LinearConstraint(np.kron(np.ones(len(L)), np.eye(p)), 0, 0)
    return Instance(
        problem=trace_problem(2 * L, M, constraints=balance),
        start=np.asarray(M.random_point(0)),
        truth=float(np.sort(networkx.laplacian_spectrum(graph))[1 : p + 1].sum()),
        truth_by="networkx.laplacian_spectrum",
        draw=partial(_draw, graph) if p == 1 else None,
    )


def _draw(graph: Any, ax: Any, X: Array) -> None:
    """The graph, coloured by the cut."""
    import networkx

    where = networkx.spring_layout(graph, seed=0)
    networkx.draw_networkx(graph, where, ax=ax, node_color=np.sign(X[:, 0]), cmap="coolwarm")


SOURCE = Source(
    package="networkx",
    module="networkx",
    oldest="3.2",
    instances={
        "cut-karate": Entry(
            "The best balanced cut of the friendships in a karate club.",
            partial(_cut, "karate_club", 1),
        ),
        "cut-miserables": Entry(
            "Three orthogonal balanced cuts of the characters of Les Miserables.",
            partial(_cut, "les_miserables", 3),
        ),
    },
)
