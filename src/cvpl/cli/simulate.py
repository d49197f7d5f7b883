"""`cvpl simulate`: people of the paper's marketing simulation, and a matching audit.yaml."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.cli.output import check_file, say
from cvpl.cli.values import OVERWRITE
from cvpl.files import check_outputs, write_whole
from cvpl.workflows.simulate import CONFIG, simulate


def command(
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
