"""Small and structured matrices: array helpers, operators, matrix functions, inertia, Krylov.

Nothing here knows about manifolds.
"""
