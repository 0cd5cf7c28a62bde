"""How h is minimised: the objective as solvers see it, and one function per method."""
