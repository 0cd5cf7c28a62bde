"""The errors of the library, and the one sentence form in which bad input is refused."""

from __future__ import annotations

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


def require_known(argument: str, value: Any, known: Iterable[Any]) -> None:
    """Refuse a value that is not among the known ones, which the message lists."""
    names = list(known)
    if value not in names:
        refuse(argument, f"one of {', '.join(map(repr, names))}", repr(value))


def require(holds: object, argument: str, formula: str, got: Any, hint: str = "") -> None:
    """Refuse the argument unless the condition holds."""
    if not holds:
        refuse(argument, formula, got, None, hint)
