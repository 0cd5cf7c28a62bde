"""Changes that change nothing.

They must survive all tests, or the harness itself finds errors that are none.
"""

from __future__ import annotations

from . import CONTRACT, errors_in

CONTROLS = [
    errors_in("genorth/geometry/multiplier.py", CONTRACT)(
        "control-sum",
        "order",
        "ClosedForm.theta",
        "(R + ct(R)) / 2",
        "(ct(R) + R) / 2",
        "nothing",
        equivalent="A sum of two numbers in floating point does not depend on their order.",
    ),
]
