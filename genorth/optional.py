"""The one guard for optional packages: import it, or say which extra to install."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def optional(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: Its full name.
        extra: The extra of genorth that installs it.
        purpose: What needs it, the subject of the message.

    Returns:
        The module.

    Raises:
        ImportError: If it is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {missing(module, extra)}") from error


def missing(module: str, extra: str) -> str:
    """The package of a module, and how to install it."""
    return f"{module.partition('.')[0]}: pip install 'genorth[{extra}]'"


def installed(module: str) -> bool:
    """Whether the package of a module is installed; it is not imported."""
    return importlib.util.find_spec(module.partition(".")[0]) is not None
