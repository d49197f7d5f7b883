"""The entry point of `cvpl` and of `python -m cvpl`."""

from __future__ import annotations

import sys

from cvpl.cli.stopping import STOPPING
from cvpl.errors import ExitCode


def main() -> None:
    """Listen to signals, then load and run the command line: Ctrl-C ends it with exit code 5 from the first moment."""
    try:
        STOPPING.listen()
        from cvpl.cli.main import main as run_command  # noqa: PLC0415 - takes long enough to be interrupted

        run_command()
    except KeyboardInterrupt:
        STOPPING.over()
        STOPPING.say()
        sys.exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    main()
