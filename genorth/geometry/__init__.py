"""The geometry of {X in F : X^T phi(X) = I}, derived from phi and psi alone."""
