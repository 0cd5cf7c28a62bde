"""`python -m paper_repro`: standard streams that cannot fail, then `paper_repro.commands`.

Nothing heavy is imported before Ctrl-C is caught.
"""

from __future__ import annotations

import sys


def run() -> int:
    """The command line; 130 after Ctrl-C, also while modules are being imported."""
    try:
        from genorth.command import open_streams

        open_streams()
        from paper_repro.commands import main

        return main()
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
