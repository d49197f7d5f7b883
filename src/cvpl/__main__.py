"""The entry point of `python -m cvpl`."""

from cvpl.cli.main import main

main()
