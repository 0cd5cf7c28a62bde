"""Folders that are made or refused, and files that are replaced, never written in place.

A full disk or a kill leaves the old file.
"""

from __future__ import annotations

import os
from pathlib import Path

from genorth.errors import refuse


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, by a second one beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
        return beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def make_folder(path: Path, argument: str) -> None:
    """Make a folder.

    Raises:
        ValueError: If it is a file or cannot be made; the message names the argument.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(argument, "a folder that is there or can be made", f"{path} ({error.strerror})")
