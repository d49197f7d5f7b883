"""The options of `cvpl audit` that say where tables are audited, if not in this process."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import typer

from cvpl.errors import UsageError


class Engine(StrEnum):
    """Where tables are audited, if not in this process."""

    SPARK = "spark"


ENGINE = typer.Option(
    None,
    "--engine",
    help="Audit tables where they are, in a Spark cluster; needs the extra `spark`. The tables are then "
    "tables of Spark's catalog by name, or Parquet files or folders.",
    show_default=False,
)
MASTER = typer.Option(
    None,
    "--master",
    metavar="URL",
    help="With --engine spark: the cluster, such as spark://host:7077, yarn or local[4]. Without it Spark's own "
    "settings name it, and else it is this machine.",
)


def engine_for(
    engine: Engine | None, master: str | None, *, plan: bool, saves: bool, ranks: bool = False
) -> Literal["spark"] | None:
    """The engine; raises UsageError for options that do not go with it."""
    if engine is None:
        if master is not None:
            raise UsageError("--master is the URL of a Spark cluster. Add --engine spark.")
        return None
    if plan or saves or ranks:
        refused = "--plan" if plan else "--save-projection" if saves else "--per-person"
        raise UsageError(f"{refused} is not there for tables in a cluster. Leave it out, or leave out --engine.")
    return "spark"


def start_engine(engine: Literal["spark"] | None, master: str | None, context: typer.Context) -> None:
    """Start Spark, if it is the engine, and stop it when the command ends."""
    if engine is not None:
        from cvpl.spark.session import session_for  # noqa: PLC0415 - only if needed

        context.with_resource(session_for(master))


def same_engine(engine: Literal["spark"] | None, master: str | None) -> list[str]:
    """The options of a command that audits in the same place."""
    if engine is None:
        return []
    return ["--engine", engine, *([] if master is None else ["--master", master])]
