"""`Problem`: a cost on a manifold with its derivatives, checked and counted."""

from genorth.problem.problem import Counts, Problem

__all__ = ["Counts", "Problem"]
