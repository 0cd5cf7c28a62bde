"""`python -m genorth.gallery`."""

import sys

from genorth.command import start

if __name__ == "__main__":
    sys.exit(start("genorth.gallery.commands"))
