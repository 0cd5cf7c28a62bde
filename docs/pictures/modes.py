"""Four compressed modes on a circle: each is a bump, and zero on the rest of the circle."""

import genorth as go
from genorth.gallery import sparse


def draw():
    from matplotlib.figure import Figure

    modes = go.minimize(sparse.compressed_modes(96, 4, 0.3), rng=1, tol=1e-5).x
    figure = Figure(figsize=(7, 2.2))
    axis = figure.subplots()
    for number, mode in enumerate(modes.T, 1):
        axis.plot(mode, label=f"mode {number}", linewidth=1 + 0.4 * number, zorder=-number)
    axis.set(xlabel="point of the circle", ylabel="entry")
    figure.legend(loc="outside right center")
    return figure
