"""`python -m paper_repro`: 130 after Ctrl-C, also while genorth is being imported."""

import sys


def run() -> int:
    """Run the command line, and return its exit code."""
    try:
        from genorth.command import start

        return start("paper_repro.commands")
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
