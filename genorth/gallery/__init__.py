"""Real problems with independently known answers: the data and the minimum of other packages.

    instance = genorth.gallery.load("lda-wine")
    result = genorth.minimize(instance.problem, instance.start)
    error = result.fun - instance.truth

One file per source; a file that defines a `SOURCE` is found automatically.
"""

from genorth.gallery.base import (
    Entry,
    Instance,
    Source,
    Visit,
    domain_solver,
    load,
    names,
    sources,
    why_not,
)

__all__ = [
    "Entry",
    "Instance",
    "Source",
    "Visit",
    "domain_solver",
    "load",
    "names",
    "sources",
    "why_not",
]
