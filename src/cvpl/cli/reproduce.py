"""`cvpl reproduce`: the paper's experiments."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.cli.terminal import OVERWRITE, Progress, check_folder, say
from cvpl.errors import UsageError
from cvpl.files import check_outputs


def command(
    out: Path = typer.Option(Path("reproduction"), metavar="DIR", help="Folder for the journal, tables and findings."),
    quick: bool = typer.Option(False, "--quick", help="2,000 people and one seed: takes about a minute."),
    data: Path | None = typer.Option(
        None, metavar="FOLDER", help="Run the protocol on real tables instead: adult/ and german/ in this folder."
    ),
    workers: int | None = typer.Option(None, min=1, metavar="NUMBER", help="Processes; by default one per core."),
    overwrite: bool = OVERWRITE,
) -> None:
    """Run the paper's grid, ablations and findings, and compare its figures with ours.

    Interrupted runs resume: finished cells are in the folder's journal. With --data, run the protocol that the paper
    proposes for Adult, and the same for German Credit.
    """
    check_folder(out, "--out")
    if data is not None and quick:
        raise UsageError("--quick uses simulated people, and --data real ones. Keep one of them.")

    from cvpl_paper.real_data import RealData  # noqa: PLC0415
    from cvpl_paper.reproduction import Reproduction  # noqa: PLC0415

    run = RealData(data) if data is not None else Reproduction.quick() if quick else Reproduction()
    check_outputs([out / name for name in run.files], overwrite=overwrite)
    with Progress() as bar:
        written = run.run(
            out,
            workers=workers,
            progress=lambda done, all_: bar(f"cells, {done} of {all_}", done / all_),
            on_damaged=bar.note,
        )
    say("Written: " + ", ".join(str(path) for path in written))
