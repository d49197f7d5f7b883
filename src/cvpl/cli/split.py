"""`cvpl split`: people set aside as a control, before protecting."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

import typer

from cvpl.cli.output import check_folder, reader_may_leave, say
from cvpl.cli.values import LIMITS, OVERWRITE, SPLIT_FORMATS, given_limits
from cvpl.wording import counted


def command(
    table: Path = typer.Argument(
        metavar="TABLE", help=f"The table before protection ({SPLIT_FORMATS}).", show_default=False
    ),
    share: float | None = typer.Option(
        None, metavar="SHARE", help="The share of people set aside, between 0 and 1; by default half of them."
    ),
    people: int | None = typer.Option(None, metavar="NUMBER", help="A number of people instead of a share."),
    by: str | None = typer.Option(
        None,
        metavar="COLUMN",
        help="The column that identifies people or households: rows with equal values stay together. Without it "
        "every row is one person.",
    ),
    seed: int = typer.Option(0, min=0, metavar="NUMBER", help="The same table and seed give the same files."),
    out: Path | None = typer.Option(None, metavar="DIR", help="Folder for the files; by default the table's own."),
    limits: str | None = LIMITS,
    overwrite: bool = OVERWRITE,
) -> None:
    """Set people aside as a control, before protecting: protect NAME_release, but not NAME_control.

    Cells are copied unchanged, rows keep their order, and NAME_split.json records the split.
    """
    check_folder(table.parent if out is None else out, "--out")

    from cvpl.workflows.split import split  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    done = split(
        table,
        share=share,
        people=people,
        by=by,
        seed=seed,
        out=out,
        overwrite=overwrite,
        limits=given_limits(limits),
    )
    with reader_may_leave():
        who = "every row is one person" if by is None else f"rows with equal '{by}' stay together"
        say(f"Drawn at random with seed {done.seed}; {who}.")
        parts = (
            (done.release, done.people_release, done.rows_release, "to be protected"),
            (done.control, done.people_control, done.rows_control, "the control"),
        )
        for file, count, rows, use in parts:
            say(f"  {file}: {counted(count, 'person', 'people')} in {counted(rows, 'row')}, {use}")
        points = 100 * 1.96 * 0.5 / math.sqrt(done.people_control)
        drawn = counted(done.people_control, "person", "people")
        say(f"With {drawn} a control rate is known to within about {points:.1f} points.")
        if by is None:
            say("If people have several rows, pass their column with --by: nobody may be in both files.")
        say("Now protect ONLY the first file; the process that makes the release must not see the second:")
        protect = ["cvpl", "protect", str(done.release), "--config", "audit.yaml", "--method", "k-anonymity"]
        say("  " + shlex.join(protect))
        call = ["cvpl", "audit", str(done.release), "RELEASED", "--config", "audit.yaml"]
        say("  " + shlex.join([*call, "--control", str(done.control)]))
