"""`cvpl audit`: two tables and a configuration in, a summary and `result.json` out."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.errors import ExitCode


def command(
    original: Path = typer.Argument(help="The table before protection (.csv, .csv.gz, .parquet)."),
    protected: Path = typer.Argument(help="The table after it."),
    config: Path = typer.Option(..., "--config", "-c", help="The audit.yaml; `cvpl init` writes a first one."),
    control: Path | None = typer.Option(None, help="People known to be absent from the release."),
    out: Path | None = typer.Option(None, help="Folder for result.json; made if it is not there."),
    fail_above: float | None = typer.Option(
        None,
        min=0.0,
        max=1.0,
        help="Exit with 10 if the upper end of the policy's figure (default: the attributable rate, else the linkage "
        "rate) is above this, or if the result cannot be relied on.",
    ),
    save_projection: Path | None = typer.Option(
        None, help="Write the fitted projection, for `projection: {saved: FILE}`."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print result.json instead of the summary."),
) -> None:
    """Measure how many people of ORIGINAL can still be linked to a record of PROTECTED.

    Exit codes: 0 done, 2 usage, 3 bad input, 4 a limit was hit, 5 interrupted, 6 internal error, 10 the gate is closed.
    """
    from cvpl.audit import audit  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy
    from cvpl.cli.progress import Progress  # noqa: PLC0415

    with Progress() as progress:
        result = audit(
            original,
            protected,
            config,
            control=control,
            fail_above=fail_above,
            save_projection_to=save_projection,
            report=progress,
        )
    path = None if out is None else result.write(out)
    if as_json:
        typer.echo(result.to_json(), nl=False)
    else:
        from rich.console import Console  # noqa: PLC0415

        from cvpl.reports.terminal import show  # noqa: PLC0415

        show(result, Console())
        if path is not None:
            typer.echo(f"\nWritten: {path}")
    if result.policy is not None and not result.policy.met:
        raise typer.Exit(ExitCode.GATE)
