"""`python -m paper_repro`."""

import sys

from genorth.command import start

if __name__ == "__main__":
    sys.exit(start("paper_repro.commands"))
