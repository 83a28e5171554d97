"""The console script ``reynolds``: audit, project, plan."""

import sys

from . import _reynolds


def main() -> int:
    """Runs the command line and returns its exit code."""
    return _reynolds.command_line(["reynolds", *sys.argv[1:]])
