"""`cvpl demo`: the main job on simulated people."""

from __future__ import annotations

from pathlib import Path

import typer

CONFIG = """\
# Simulated purchases: who bought what, when and after which advertisement.
columns:
  person_id:      {role: id}
  age:            {role: quasi_identifier, type: numeric, block: {bin: 10}}
  gender:         {role: quasi_identifier, type: category, block: exact}
  region:         {role: quasi_identifier, type: category, separator: "/", block: {level: 1}}
  brand_product:  {role: attribute, type: category}
  purchase_place: {role: attribute, type: category}
  purchase_time:  {role: attribute, type: datetime, features: [hour, day_of_week]}
  days_after_ad:  {role: attribute, type: numeric}
  ad_channel:     {role: attribute, type: category}
  income:         {role: sensitive}
truth: {original: person_id, protected: person_id, simulated: true}
attacker: paper
threshold: 0.90
seed: 42
"""


def command(
    out: Path = typer.Option(Path("demo"), help="Folder for the simulated tables, the configuration and the result."),
    records: int = typer.Option(10_000, min=100, help="How many people to simulate."),
) -> None:
    """Simulate people, protect their table with noise, set others aside as control, and audit the release."""
    from rich.console import Console  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    from cvpl.audit import audit  # noqa: PLC0415
    from cvpl.cli.progress import Progress  # noqa: PLC0415
    from cvpl.protection import Perturbation  # noqa: PLC0415
    from cvpl.reports.terminal import show  # noqa: PLC0415
    from cvpl.simulation import Touchpoints  # noqa: PLC0415
    from cvpl.streams import stream  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    people = Touchpoints(records=records).draw(stream(42, "demo people"))
    tables = {
        "original.csv": people,
        "released.csv": Perturbation("medium").protect(people, stream(42, "demo noise")),
        "holdout.csv": Touchpoints(records=records).draw(stream(42, "demo control")),
    }
    for name, table in tables.items():
        table.write(out / name)
    (out / "audit.yaml").write_text(CONFIG, encoding="utf-8")
    with Progress() as progress:
        result = audit(
            out / "original.csv",
            out / "released.csv",
            out / "audit.yaml",
            control=out / "holdout.csv",
            report=progress,
        )
    path = result.write(out)
    console = Console()
    console.print(
        f"{records:,} simulated people, released with noise on ages, times and categories; as many others as control.",
        highlight=False,
    )
    show(result, console)
    typer.echo(f"\nWritten: {path}. The same by hand:")
    files = " ".join(str(out / name) for name in ("original.csv", "released.csv"))
    typer.echo(f"  cvpl audit {files} --config {out / 'audit.yaml'} --control {out / 'holdout.csv'} --out {out}")
