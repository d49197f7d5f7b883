"""`cvpl surface`: a mechanism's strength swept, its risk read at every threshold, and the weakest setting named."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.cli.output import check_folder, page, reader_may_leave
from cvpl.cli.values import finite_rate, memory_bytes
from cvpl.errors import UsageError


def command(
    original: Path = typer.Argument(
        metavar="ORIGINAL", help="The table before protection (.csv, .csv.gz, .parquet).", show_default=False
    ),
    config: Path = typer.Option(
        ..., "--config", "-c", metavar="FILE", help="The audit.yaml; `cvpl init` writes a first one."
    ),
    mechanism: str | None = typer.Option(
        None,
        "--mechanism",
        "-m",
        metavar="NAME",
        help="What makes the releases: k-anonymity, mondrian, perturbation or synthetic, as in `cvpl protect`.",
    ),
    strengths: str | None = typer.Option(
        None,
        "--strengths",
        "-s",
        metavar="VALUES",
        help="The strengths to try, such as 2,5,10; with commas. Without it, all of the paper's.",
    ),
    blocking: bool = typer.Option(
        False, "--blocking", help="In place of a mechanism: sweep the granularity of the blocking on --release."
    ),
    release: Path | None = typer.Option(None, metavar="FILE", help="The release to attack, for --blocking."),
    control: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="People like the originals who are known to be absent from the releases. They tell how many look-alikes "
        "anybody finds.",
    ),
    attacker: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Sweep with this one of the configuration's attackers. Without it, with the strongest on the weakest "
        "release.",
    ),
    target: float | None = typer.Option(
        None,
        metavar="RATE",
        min=0.0,
        max=1.0,
        callback=finite_rate,
        help="Name the weakest setting whose risk stays at or below RATE, such as 0.05, by its upper interval end.",
    ),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder for surface.json and surface.html; made if it is not there. Without it nothing is written.",
    ),
    memory: str | None = typer.Option(None, metavar="SIZE", help="The memory that may be used, such as 4GB."),
    as_json: bool = typer.Option(False, "--json", help="Print what surface.json holds instead of the summary."),
) -> None:
    """Sweep the strength of a mechanism: how the risk falls as protection grows, at every threshold.

    Each release is made and attacked once. With --target the weakest setting is named from which on every stronger one
    that was tried stays at or below the target too.
    """
    if blocking == (mechanism is not None):
        raise UsageError("name what to sweep: either --mechanism NAME, or --blocking with --release FILE.")
    if blocking and (release is None or strengths is not None):
        raise UsageError("--blocking needs --release FILE, and takes no --strengths: it turns the declared keys.")
    if not blocking and release is not None:
        raise UsageError("--release is for --blocking: a mechanism makes its releases from ORIGINAL. Leave it out.")
    allowed = memory_bytes(memory)
    if out is not None:
        check_folder(out, "--out")

    from cvpl.cli.progress import Progress  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy
    from cvpl.workflows.surface.surface import BLOCKING, surface  # noqa: PLC0415

    listed = None if strengths is None else [item.strip() for item in strengths.split(",") if item.strip()]
    with Progress() as progress:
        result = surface(
            original,
            mechanism or BLOCKING,
            listed,
            config,
            control=control,
            target=target,
            attacker=attacker,
            release=release,
            memory=allowed,
            progress=progress,
        )
    path = page_at = None
    if out is not None:
        from cvpl.reports.files import write_report  # noqa: PLC0415 - only where a file is asked for

        path = result.write(out)
        page_at = write_report(result, out / "surface.html")
    with reader_may_leave():
        if as_json:
            # Bytes, so that neither the encoding nor the line ends of the terminal change them.
            typer.echo(result.to_json().encode(), nl=False)
            return
        from cvpl.reports.surface import show  # noqa: PLC0415

        show(result, page())
        if path is not None:
            typer.echo(f"\nWritten: {path}, and the page to hand over: {page_at}")
