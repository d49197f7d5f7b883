"""`cvpl protect`: releases of a table, by any of the mechanisms at any strength."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import typer

from cvpl.cli.output import check_folder, page, reader_may_leave, say
from cvpl.cli.values import OVERWRITE, READ_FORMATS
from cvpl.errors import UsageError
from cvpl.files import check_outputs


class Method(StrEnum):
    """The mechanisms."""

    k_anonymity = "k-anonymity"
    mondrian = "mondrian"
    perturbation = "perturbation"
    synthetic = "synthetic"


class TableFormat(StrEnum):
    """The output formats."""

    csv = "csv"
    parquet = "parquet"


def command(
    table: Path = typer.Argument(metavar="TABLE", help=f"The table to protect ({READ_FORMATS}).", show_default=False),
    config: Path = typer.Option(
        ..., "--config", "-c", metavar="FILE", help="The audit.yaml, which declares the columns."
    ),
    method: Method = typer.Option(..., "--method", "-m", help="The mechanism."),
    strength: list[str] = typer.Option(
        [],
        "--strength",
        "-s",
        metavar="VALUE",
        help="k for k-anonymity and mondrian, a level (low, medium, high) for perturbation, the share of correlation "
        "kept for synthetic. Repeat it for several releases; without it, all of the paper's strengths.",
    ),
    out: Path = typer.Option(Path("releases"), metavar="DIR", help="Folder for the releases."),
    ending: TableFormat = typer.Option(TableFormat.csv, "--format", help="The file format."),
    seed: int | None = typer.Option(None, min=0, metavar="NUMBER", help="Replaces the configuration's seed."),
    overwrite: bool = OVERWRITE,
) -> None:
    """Protect a table: by k-anonymity (full-domain or Mondrian), by noise, or by synthetic rows.

    Only declared columns enter a release, and the id stays in it so that it can be audited: remove it before you
    publish. For k-anonymity, k is recounted from each file.
    """
    check_folder(out, "--out")

    from cvpl.config.loading import named_files  # noqa: PLC0415
    from cvpl.reports.releases import show  # noqa: PLC0415
    from cvpl.workflows.protect import FAMILIES, ORIGINAL_ROW, Protector, release_name  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    strengths = strength or FAMILIES[method.value].usual
    read = [table, *named_files(config)]

    def check(names: Iterable[str]) -> None:
        check_outputs([out / f"{name}.{ending.value}" for name in dict.fromkeys(names)], read, overwrite=overwrite)

    check(release_name(method.value, item) for item in strengths)
    protector, left_out = Protector.read(table, config)
    made = [protector.release(method.value, item, seed) for item in strengths]
    check(release.name for release in made)
    twice = {release.name for release in made if sum(item.name == release.name for item in made) > 1}
    if twice:
        raise UsageError(f"--strength: {', '.join(sorted(twice))} would be written twice. Name each strength once.")
    out.mkdir(parents=True, exist_ok=True)
    written = [(release, *release.write_counted(out / f"{release.name}.{ending.value}")) for release in made]
    with reader_may_leave():
        show(written, len(protector.frame), page())
        if left_out:
            names = ", ".join(f"'{name}'" for name in left_out)
            say(f"Not in the release, because ignored or not declared: {names}.")
        if protector.frame.id_name == ORIGINAL_ROW:
            say(
                f"No column has the role id, so '{ORIGINAL_ROW}' identifies the person of each row. To audit, set\n"
                f"  truth: {{original: row_number, protected: {ORIGINAL_ROW}}}"
            )
        say("The id links rows to people: remove it before you publish a release.")
        call = ["cvpl", "audit", str(table), str(written[0][1]), "--config", str(config)]
        say(f"Written to {out}. To audit the first of them:\n  {shlex.join(call)}")
