"""`cvpl surface`: a sweep over a mechanism's strength, with the risk at every threshold."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.cli.output import check_folder, page, reader_may_leave, say, tell
from cvpl.cli.values import DETAILS, ORIGINAL_HELP, OVERWRITE, finite_rate, memory_bytes
from cvpl.errors import UsageError
from cvpl.files import check_outputs

FILES = ("surface.json", "surface.html")


def command(
    original: Path = typer.Argument(metavar="ORIGINAL", help=ORIGINAL_HELP, show_default=False),
    config: Path = typer.Option(
        ..., "--config", "-c", metavar="FILE", help="The audit.yaml; `cvpl init` writes a first one."
    ),
    mechanism: str | None = typer.Option(
        None,
        "--mechanism",
        "-m",
        metavar="NAME",
        help="What makes the releases: k-anonymity, mondrian, perturbation or synthetic, as in `cvpl protect`. Or a "
        "command with {input}, {output}, {strength} and, if it takes one, {seed}, such as 'python synthesize.py "
        "{input} {output} {seed} {strength}'; it runs without a shell.",
    ),
    strengths: str | None = typer.Option(
        None,
        "--strengths",
        "-s",
        metavar="VALUES",
        help="The strengths to try, such as 2,5,10; separate by commas. Those of a command go from the weakest "
        "protection to the strongest. Without it, all of the paper's.",
    ),
    draws: int = typer.Option(
        1,
        metavar="NUMBER",
        min=1,
        help="Releases at each strength, each with its own seed; the one with the largest risk counts.",
    ),
    timeout: float | None = typer.Option(
        None, metavar="SECONDS", help="The longest that a command may take for a release."
    ),
    blocking: bool = typer.Option(
        False, "--blocking", help="Instead of a mechanism: sweep the granularity of the blocking on --release."
    ),
    release: Path | None = typer.Option(None, metavar="FILE", help="The release to attack, for --blocking."),
    control: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="People like the originals who are known to be absent from the releases. They give the base rate of "
        "look-alikes.",
    ),
    attacker: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Run the sweep with this one of the configuration's attackers. Without it, the strongest on the weakest "
        "release.",
    ),
    target: float | None = typer.Option(
        None,
        metavar="RATE",
        min=0.0,
        max=1.0,
        callback=finite_rate,
        help="Find the weakest setting whose risk is at or below RATE, such as 0.05, by its upper interval end.",
    ),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder for surface.json and surface.html; created if needed. Without it nothing is written.",
    ),
    memory: str | None = typer.Option(None, metavar="SIZE", help="The memory limit, such as 4GB."),
    overwrite: bool = OVERWRITE,
    details: bool = DETAILS,
    as_json: bool = typer.Option(False, "--json", help="Print the content of surface.json instead of the summary."),
) -> None:
    """Sweep the strength of a mechanism: how the risk falls with stronger protection, at every threshold.

    Each release is made and attacked once. With --target, find the weakest setting from which it and every stronger one
    that was tried are at or below the target.
    """
    if blocking == (mechanism is not None):
        raise UsageError("nothing to sweep: pass either --mechanism NAME, or --blocking with --release FILE.")
    if blocking and (release is None or strengths is not None):
        raise UsageError("--blocking needs --release FILE, and takes no --strengths: it varies the declared keys.")
    if not blocking and release is not None:
        raise UsageError("--release is for --blocking: a mechanism makes its releases from ORIGINAL. Remove it.")
    allowed = memory_bytes(memory)
    if out is not None:
        from cvpl.config.loading import named_files  # noqa: PLC0415 - only if a file is written

        check_folder(out, "--out")
        read = [original, release, control, *named_files(config)]
        check_outputs([out / name for name in FILES], read, overwrite=overwrite)

    from cvpl.cli.progress import Progress  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy
    from cvpl.workflows.draws.making import FAILED  # noqa: PLC0415
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
            draws=draws,
            attacker=attacker,
            release=release,
            timeout=timeout,
            folder=out,
            memory=allowed,
            progress=progress,
        )
    path = page_at = None
    if out is not None:
        from cvpl.reports.files import write_result  # noqa: PLC0415 - only if a file is written

        path, page_at = write_result(result, out, FILES[1])
    with reader_may_leave():
        if as_json:
            # Bytes, so that the terminal's encoding and line ends do not change them.
            typer.echo(result.to_json().encode(), nl=False)
            return
        from cvpl.reports.brief import LINES  # noqa: PLC0415
        from cvpl.reports.terminal import show  # noqa: PLC0415

        show(result, page(), details=details, most=LINES if path is None else LINES - 3)
        if path is not None:
            say(f"\nWritten: {path}, and the page to share: {page_at}")
        if out is not None and result.failed and (out / FAILED).is_dir():
            tell(f"What failed commands printed is in {out / FAILED}. It may contain cells of the table.")
