r"""
3. Compare solvers
==================

Which solver is best for your problem? ``compare.run`` starts all of them at the same random points,
with the same stopping measure and one BLAS thread, and keeps a record of each run. The problem here
is the symplectic matrix nearest to a given one.
"""

import numpy as np

import genorth as go
from genorth import compare
from genorth.compare import plots, summary, tables

M = go.SymplecticStiefel(60, 6)
B = M.random_ambient(rng=0)
problem = go.Problem(
    M,
    cost=lambda X: np.sum((X - B) ** 2) / 2,
    euclidean_gradient=lambda X: X - B,
    euclidean_hessian=lambda X, Z: Z,
    name="nearest symplectic",
)

# %%
# A solver of your own takes part too: a function of the problem, a start and the budgets that
# returns a ``Result``. Here it is a registered solver with another option.


def my_solver(problem, x0=None, **options):
    return go.minimize(problem, x0, method="rcg", retraction="polar", check=False, **options)


solvers = {name: go.SOLVERS[name] for name in ("rtr", "rlbfgs", "rcg", "odf-lbfgs", "cdf-lbfgs")}
solvers["mine"] = my_solver

# %%
# Three starts and two tolerances for each. Methods that begin with cdf or odf minimise a penalty:
# the constraint dissolving function or the orthogonal dissolving function. In a notebook the
# records show who wins, the solvers, and the share of runs that each finishes within a factor of
# the fastest.

records = compare.run(
    problem, solvers, starts=3, tolerances=(1e-4, 1e-8), max_time=5, progress=None
)
records

# %%
# Seconds and evaluations to the tighter tolerance, medians with their ranges over the starts:

print(tables.to_target(records.where(tolerance=1e-8), "text"))

# %%
# Who wins, in words:

print(*summary.headline(records), sep="\n")

# %%
# The next plot shows gradient norm and feasibility against time and evaluations. The Riemannian
# methods stay on the manifold; penalty methods leave it, and in the end gradient and violation fall
# together.

convergence = plots.convergence(records)

# %%
# ``compare.report(records, "report.html")`` writes all of this, with the settings and the machine,
# as one self-contained HTML report. :doc:`/comparison` has more. Next: :doc:`plot_4_train`.
