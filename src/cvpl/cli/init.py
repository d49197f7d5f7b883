"""`cvpl init`: a commented audit.yaml, guessed from the two tables, for the user to correct."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from cvpl.cli.output import check_file, say
from cvpl.cli.values import LIMITS, ORIGINAL_HELP, OVERWRITE, given_limits
from cvpl.files import check_outputs


def command(
    original: Path = typer.Argument(
        metavar="ORIGINAL",
        help=ORIGINAL_HELP,
        show_default=False,
    ),
    protected: Path = typer.Argument(metavar="PROTECTED", help="The released table.", show_default=False),
    out: Path = typer.Option(Path("audit.yaml"), metavar="FILE", help="The file to write."),
    limits: str | None = LIMITS,
    overwrite: bool = OVERWRITE,
) -> None:
    """Propose a configuration for two tables, with the reasons as comments. Check it before you audit."""
    check_file(out, "--out")
    check_outputs([out], [original, protected], overwrite=overwrite)

    from cvpl.workflows.propose import propose  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    propose(original, protected, limits=given_limits(limits)).write(out, overwrite=overwrite)
    say(f"Written: {out}. Its roles and types are guesses: check them, then run")
    say("  " + shlex.join(["cvpl", "audit", str(original), str(protected), "--config", str(out)]))
    say("and add --control FILE if you have people who are known to be absent from the release.")
