"""Riemannian solvers: gradient descent, conjugate gradients, L-BFGS and trust regions."""
