"""`python -m genorth.gallery`: streams that cannot fail, then `genorth.gallery.commands`."""

from __future__ import annotations

import sys

from genorth.command import open_streams

if __name__ == "__main__":
    open_streams()
    try:
        from genorth.gallery.commands import main

        sys.exit(main())
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        sys.exit(130)
