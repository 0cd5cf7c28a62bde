"""The ellipse of docs/errata.md: X^T B X = 1 in the plane, with a point on it.

At X = (3/5, 2/5), phi(X) = (3/5, 8/5) is normal and (8, -3) is tangent.
"""

import numpy as np

import genorth as go

ELLIPSE = go.GeneralizedStiefel(np.array([1.0, 4.0]), 1)
POINT = np.array([[0.6], [0.4]])
NORMAL = np.array([[0.6], [1.6]])
TANGENT = np.array([[8.0], [-3.0]])
