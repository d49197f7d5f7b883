"""The commands that make tables or a configuration: `cvpl protect`, `split`, `init`, `simulate` and `demo`."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import typer

from cvpl.cli.terminal import (
    DETAILS,
    LIMITS,
    ORIGINAL_HELP,
    OVERWRITE,
    READ_FORMATS,
    SPLIT_FORMATS,
    Progress,
    check_file,
    check_folder,
    given_limits,
    page,
    reader_may_leave,
    report_date,
    say,
    show_result,
)
from cvpl.errors import UsageError
from cvpl.files import check_outputs, write_whole
from cvpl.wording import count_phrase


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


def protect_command(
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
    from cvpl.workflows.made_tables import FAMILIES, ORIGINAL_ROW, Protector, release_name  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

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


def split_command(
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

    from cvpl.workflows.made_tables import split  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

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
            say(f"  {file}: {count_phrase(count, 'person', 'people')} in {count_phrase(rows, 'row')}, {use}")
        points = 100 * 1.96 * 0.5 / math.sqrt(done.people_control)
        drawn = count_phrase(done.people_control, "person", "people")
        say(f"With {drawn} a control rate is known to within about {points:.1f} points.")
        if by is None:
            say("If people have several rows, pass their column with --by: nobody may be in both files.")
        say("Now protect ONLY the first file; the process that makes the release must not see the second:")
        protect = ["cvpl", "protect", str(done.release), "--config", "audit.yaml", "--method", "k-anonymity"]
        say("  " + shlex.join(protect))
        call = ["cvpl", "audit", str(done.release), "RELEASED", "--config", "audit.yaml"]
        say("  " + shlex.join([*call, "--control", str(done.control)]))


def init_command(
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

    from cvpl.workflows.audit import propose  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    propose(original, protected, limits=given_limits(limits)).write(out, overwrite=overwrite)
    say(f"Written: {out}. Its roles and types are guesses: check them, then run")
    say("  " + shlex.join(["cvpl", "audit", str(original), str(protected), "--config", str(out)]))
    say("and add --control FILE if you have people who are known to be absent from the release.")


def simulate_command(
    out: Path = typer.Argument(
        metavar="FILE",
        help="The table to write (.csv, .csv.gz, .parquet); audit.yaml is written next to it.",
        show_default=False,
    ),
    records: int = typer.Option(10_000, metavar="NUMBER", help="People, one row each."),
    anomaly_rate: float = typer.Option(
        0.0, metavar="SHARE", help="Share of people with a planted anomaly: a rare channel, product, time or delay."
    ),
    missing_rate: float = typer.Option(0.0, metavar="SHARE", help="Probability that a value is missing."),
    products: int = typer.Option(50, metavar="NUMBER", help="Products in the ordinary range."),
    product_alpha: float = typer.Option(
        1.5,
        metavar="NUMBER",
        help="The r-th most popular product has a share proportional to r to the power of -alpha.",
    ),
    seed: int = typer.Option(42, min=0, metavar="NUMBER", help="The same seed gives the same people."),
    overwrite: bool = OVERWRITE,
) -> None:
    """Simulate people who saw an advertisement and bought something, as in the paper."""
    config = out.with_name("audit.yaml")
    for file in (out, config):
        check_file(file, "FILE")
    from cvpl.workflows.made_tables import CONFIG, simulate  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    # The configuration is always the same: one that an earlier call wrote may stay.
    same = config.is_file() and config.read_bytes() == CONFIG.encode()
    check_outputs([out] if same else [out, config], overwrite=overwrite)

    people = simulate(
        records,
        seed,
        anomaly_rate=anomaly_rate,
        missing_rate=missing_rate,
        products=products,
        product_alpha=product_alpha,
    )
    people.write(out)
    write_whole(config, CONFIG)
    say(f"Written: {out}, {records:,} people, and {config}. To protect them:")
    say(f"  cvpl protect {out} --config {config} --method k-anonymity --strength 10")


DEMO_FILES = ("original.csv", "released.csv", "holdout.csv", "audit.yaml", "result.json", "report.html")


def demo_command(
    out: Path = typer.Option(
        Path("demo"), metavar="DIR", help="Folder for the simulated tables, the configuration and the result."
    ),
    records: int = typer.Option(5_000, metavar="NUMBER", min=100, help="How many people to simulate, at least 100."),
    details: bool = DETAILS,
) -> None:
    """Simulate people, protect their table with noise, set others aside as control, and audit the release."""
    check_folder(out, "--out")
    day = report_date(None)
    _check_vacant(out)
    from cvpl.laboratory.mechanisms import Perturbation  # noqa: PLC0415
    from cvpl.laboratory.simulation import Touchpoints  # noqa: PLC0415
    from cvpl.randomness import stream  # noqa: PLC0415
    from cvpl.reports.files import write_result  # noqa: PLC0415
    from cvpl.workflows.audit import audit  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy
    from cvpl.workflows.made_tables import CONFIG  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    # The result of an earlier demo must not stand beside the tables of this one.
    for name in ("report.html", "result.json"):
        (out / name).unlink(missing_ok=True)
    # The configuration comes first: a later demo recognizes the folder by it.
    original, released, holdout, config = (out / name for name in DEMO_FILES[:4])
    write_whole(config, CONFIG)
    people = Touchpoints(records=records).draw(stream(42, "demo people"))
    people.write(original)
    Perturbation("medium").protect(people, stream(42, "demo noise")).write(released)
    Touchpoints(records=records).draw(stream(42, "demo control")).write(holdout)
    with Progress() as progress:
        result = audit(original, released, config, control=holdout, progress=progress)
    path, page_at = write_result(result, out, "report.html", date=day)
    text = (
        f"{records:,} simulated people, released with noise on ages, times and categories; as many others as control."
    )
    call = ["cvpl", "audit", original, released, "--config", config, "--control", holdout, "--out", out, "--overwrite"]
    by_hand = "  " + shlex.join(str(part) for part in call)
    lines = [f"\nWritten: {path}, and the page to share: {page_at}. The same by hand:", by_hand]
    with reader_may_leave():
        page().print(text)
        show_result(result, lines, details=details, used=2)


def _check_vacant(out: Path) -> None:
    """Refuse a folder whose files a demo would replace, unless they are an earlier demo's."""
    there = [name for name in DEMO_FILES if (out / name).exists()]
    config = out / "audit.yaml"
    if not there:
        return
    from cvpl.workflows.made_tables import CONFIG  # noqa: PLC0415 - only if needed

    if not (config.is_file() and config.read_bytes() == CONFIG.encode()):
        names = ", ".join(there)
        raise UsageError(f"--out {out}: the demo would replace {names} in this folder. Name another folder.")
