"""`cvpl init`: a commented audit.yaml, guessed from the two tables, for the person to correct."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.errors import UsageError


def command(
    original: Path = typer.Argument(help="The table before protection (.csv, .csv.gz, .parquet)."),
    protected: Path = typer.Argument(help="The table after it."),
    out: Path = typer.Option(Path("audit.yaml"), help="The file to write."),
    force: bool = typer.Option(False, help="Replace the file if it is there."),
) -> None:
    """Propose a configuration for two tables, with the reasons as comments. Check it before you audit."""
    from cvpl.tables.proposal import propose  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    if out.exists() and not force:
        raise UsageError(f"{out} is there already. Name another with --out, or replace it with --force.")
    text = propose(original, protected)
    out.write_text(text, encoding="utf-8")
    typer.echo(f"Written: {out}. Check the roles and types, then:")
    typer.echo(f"  cvpl audit {original} {protected} --config {out}")
