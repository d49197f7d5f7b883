"""`python -m cvpl` is the command line."""

from cvpl.cli.main import main

main()
