"""The errors of the library, and the one sentence form in which bad input is refused."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn


class OutsideDomainError(ValueError):
    """A step so long that the retraction does not exist there; a line search halves it."""


class StepTooLong(Exception):
    """A trial step for a line search to shorten: what a curve makes of an `OutsideDomainError`.

    Line searches catch this and nothing else, so an `OutsideDomainError` that a user's cost raises
    passes through them.
    """


class NotRestorableError(ValueError):
    """A point so far from M that repeated A does not lead to M."""


class EmptyManifoldError(ValueError):
    """No X satisfies the constraint, or none was found."""


def _figure(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def refuse(
    argument: str,
    formula: str,
    got: Any,
    tolerance: Any = None,
    hint: str = "",
    error: type[ValueError] = ValueError,
) -> NoReturn:
    """Raise `error` with a message that names argument, formula, value and tolerance."""
    message = f"{argument}: need {formula}; got {_figure(got)}"
    if tolerance is not None:
        message += f", tolerance {_figure(tolerance)}"
    raise error(f"{message}. {hint}".rstrip())


def moved(module: str, names: Mapping[str, str]) -> Callable[[str], NoReturn]:
    """A module's `__getattr__` that says where the names have gone that it had before.

    The error is an ImportError, as `from module import name` would replace an AttributeError by
    one without the message.
    """

    def find(name: str) -> NoReturn:
        if name in names:
            message = f"{module}.{name} {names[name]}; see 'Migrating' in CHANGELOG.md"
            raise ImportError(message)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find


#: What SciPy, pymanopt and others call what we have under another name.
_ELSEWHERE = {
    **dict.fromkeys(("maxiter", "max_iter", "niter", "max_nit"), "max_iterations"),
    **dict.fromkeys(("maxfun", "maxfev", "max_cost_evaluations"), "max_evaluations"),
    **dict.fromkeys(("gtol", "ftol", "tolerance", "eps", "min_gradient_norm"), "tol"),
    **dict.fromkeys(("disp", "verbose", "verbosity", "display"), "progress"),
    **dict.fromkeys(("x_0", "initial_point", "start", "init"), "x0"),
    **dict.fromkeys(("seed", "random_state"), "rng"),
    **dict.fromkeys(("maxcor", "m", "history"), "memory"),
    **dict.fromkeys(("timeout", "maxtime"), "max_time"),
    **dict.fromkeys(("solver", "optimizer", "algorithm"), "method"),
    **dict.fromkeys(("bfgs", "l-bfgs", "lbfgs", "l-bfgs-b"), "rlbfgs"),
    **dict.fromkeys(("cg", "conjugategradient"), "rcg"),
    **dict.fromkeys(("gd", "steepestdescent", "sd"), "rgd"),
    **dict.fromkeys(("tr", "newton-cg", "trust-ncg", "trustregions"), "rtr"),
    **dict.fromkeys(("exponential", "expm", "geodesic"), "exp"),
    **dict.fromkeys(("qr", "svd", "projection"), "polar"),
}


def did_you_mean(word: Any, known: Iterable[Any], renamed: Mapping[str, str] | None = None) -> str:
    """A question that suggests the known name nearest to a word.

    Args:
        word: What the user wrote.
        known: The names that there are.
        renamed: Names of the past, or of other packages, and what they are called here.

    Returns:
        "Did you mean ...?", or nothing where no name is near.
    """
    names = {name.lower(): name for name in known if isinstance(name, str)}
    others = {**_ELSEWHERE, **(renamed or {})}
    names = {old: new for old, new in others.items() if new in names.values()} | names
    asked = word.lower() if isinstance(word, str) else ""
    near = [asked] if asked in names else difflib.get_close_matches(asked, names, 1)
    return f"Did you mean {names[near[0]]!r}?" if near else ""


def require_known(
    argument: str, value: Any, known: Iterable[Any], renamed: Mapping[str, str] | None = None
) -> None:
    """Refuse a value that is not among the known ones, which the message lists.

    Args:
        argument: The argument.
        value: Its value.
        known: The values that it may have.
        renamed: As for `did_you_mean`.

    Raises:
        ValueError: With the known values, and the nearest of them.
    """
    names = list(known)
    if not isinstance(value, str | int) or value not in names:  # an array has no truth value
        hint = did_you_mean(value, names, renamed)
        refuse(argument, f"one of {', '.join(map(repr, names))}", repr(value), None, hint)


def require(
    holds: object, argument: str, formula: str, got: Any, hint: str = "", tolerance: Any = None
) -> None:
    """Refuse the argument unless the condition holds."""
    if not holds:
        refuse(argument, formula, got, tolerance, hint)
