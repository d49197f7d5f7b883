"""`cvpl demo`: an audit of simulated people."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from cvpl.cli.output import check_folder, page, reader_may_leave
from cvpl.cli.summary import show_result
from cvpl.cli.values import DETAILS, report_date
from cvpl.errors import UsageError
from cvpl.files import write_whole
from cvpl.workflows.simulate import CONFIG

FILES = ("original.csv", "released.csv", "holdout.csv", "audit.yaml", "result.json", "report.html")


def command(
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

    from cvpl.cli.progress import Progress  # noqa: PLC0415
    from cvpl.laboratory.mechanisms import Perturbation  # noqa: PLC0415
    from cvpl.laboratory.simulation import Touchpoints  # noqa: PLC0415
    from cvpl.randomness import stream  # noqa: PLC0415
    from cvpl.reports.files import write_result  # noqa: PLC0415
    from cvpl.workflows.audit import audit  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    out.mkdir(parents=True, exist_ok=True)
    # The result of an earlier demo must not stand beside the tables of this one.
    for name in ("report.html", "result.json"):
        (out / name).unlink(missing_ok=True)
    # The configuration comes first: a later demo recognizes the folder by it.
    original, released, holdout, config = (out / name for name in FILES[:4])
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
    there = [name for name in FILES if (out / name).exists()]
    config = out / "audit.yaml"
    if there and not (config.is_file() and config.read_bytes() == CONFIG.encode()):
        names = ", ".join(there)
        raise UsageError(f"--out {out}: the demo would replace {names} in this folder. Name another folder.")
