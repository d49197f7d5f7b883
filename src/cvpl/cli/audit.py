"""`cvpl audit`: two tables and a configuration in, a summary, `result.json` and `report.html` out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import typer

from cvpl.cli.terminal import (
    DATE,
    DETAILS,
    LIMITS,
    ORIGINAL_HELP,
    OVERWRITE,
    Progress,
    check_file,
    check_folder,
    finite_rate,
    given_limits,
    memory_bytes,
    page,
    reader_may_leave,
    report_date,
    show_assumptions,
    show_result,
    tell,
)
from cvpl.errors import ExitCode, UsageError
from cvpl.files import check_outputs

if TYPE_CHECKING:
    from datetime import date as Day  # noqa: N812 - `date` is an option

    from cvpl.config.loading import WithPolicy
    from cvpl.result import AuditResult, Finding
    from cvpl.workflows.proposal import Proposal


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


FILES = ("result.json", "report.html")
CONFIG = "audit.yaml"
"""The guessed configuration in the folder of the result."""


EXIT_CODES = (
    "Exit codes: 0 done; 2 invalid call, or the output cannot be written; 3 a table or the configuration cannot "
    "be used; 4 a limit was hit; 5 interrupted; 6 internal error; 10 the gate (--fail-above, --policy or the "
    "configuration's policy) is closed."
)


def command(
    context: typer.Context,
    original: str = typer.Argument(
        metavar="ORIGINAL",
        help=ORIGINAL_HELP,
        show_default=False,
    ),
    protected: str = typer.Argument(metavar="PROTECTED", help="The released table.", show_default=False),
    config: Path | None = typer.Option(
        None,
        "--config",
        "-c",
        metavar="FILE",
        help="The audit.yaml. Without it, roles and types are guessed and shown, and the guess is written to --out as "
        "audit.yaml; a gate needs the file.",
    ),
    control: str | None = typer.Option(
        None,
        metavar="FILE",
        help="People like the originals who are known to be absent from the release. They give the base rate of "
        "look-alikes; without them, or true matches, a linkage rate cannot be distinguished from chance.",
    ),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder for result.json and report.html; created if needed. Without it nothing is written.",
    ),
    fail_above: float | None = typer.Option(
        None,
        metavar="RATE",
        min=0.0,
        max=1.0,
        callback=finite_rate,
        help="A gate, such as 0.05: exit with 10 if the upper interval end of the policy's figure (default: the risk) "
        "is above RATE, if a check before the attack closes it, or if the result cannot be relied on.",
    ),
    policy: str | None = typer.Option(
        None,
        metavar="FILE",
        help="A gate in a YAML file that replaces the configuration's policy: figure, bound and max, a list of "
        "these, or the name of a preset. A preset may also be named here directly.",
    ),
    attackers: str | None = typer.Option(
        None,
        metavar="NAMES",
        help="Run only these of the configuration's attackers, such as paper,rarity_reference; separate by commas.",
    ),
    quick: bool = typer.Option(
        False,
        "--quick",
        help="A first look in seconds: a sample of people against the whole release, with a wider interval. A gate "
        "needs the full audit.",
    ),
    population: float | None = typer.Option(
        None,
        metavar="NUMBER",
        help="How many people there are in all, of whom the originals are some, such as 1000000; below 1 the share of "
        "them that is in the table. The result then tells how many of an attacker's links are right.",
    ),
    scenario: str | None = typer.Option(
        None,
        metavar="NAME",
        help="The situation in which the family attacks: motivated_intruder, neighbour, journalist, marketer or "
        "data_holder. It sets which columns attackers know, and with how many errors.",
    ),
    randomize: bool = typer.Option(
        False,
        "--randomize",
        help="Add three attackers drawn from a wider family by a new, recorded seed, so that no release can be tuned "
        "to them.",
    ),
    randomize_seed: int | None = typer.Option(
        None, metavar="SEED", min=0, help="The recorded seed of an earlier --randomize, to repeat its draw."
    ),
    save_projection: Path | None = typer.Option(
        None, metavar="FILE", help="Write the fitted projection, for `projection: {saved: FILE}` in a later audit."
    ),
    per_person: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Write how exposed each row of ORIGINAL is, and by which columns, as a CSV file that only you can read. "
        "It tells of single people.",
    ),
    per_person_id: bool = typer.Option(
        False, "--per-person-id", help="Put the value of the declared id column into that file too."
    ),
    memory: str | None = typer.Option(
        None,
        metavar="SIZE",
        help="The memory limit, such as 4GB; the work is split into pieces that fit, or refused with exit code 4.",
    ),
    limits: str | None = LIMITS,
    engine: Engine | None = ENGINE,
    master: str | None = MASTER,
    plan: bool = typer.Option(False, "--plan", help="Print blocks, pairs, memory and expected time, and stop."),
    date: str | None = DATE,
    overwrite: bool = OVERWRITE,
    details: bool = DETAILS,
    as_json: bool = typer.Option(False, "--json", help="Print the content of result.json instead of the summary."),
) -> None:
    """Measure how many people of ORIGINAL can still be linked to a record of PROTECTED."""
    allowed, most, day = memory_bytes(memory), given_limits(limits), report_date(date)
    if most is not None and config is not None:
        raise UsageError(
            "--limits is for an audit without --config. Set `reading.limits` in the configuration instead."
        )
    where = engine_for(engine, master, plan=plan, saves=save_projection is not None, ranks=per_person is not None)
    _check_places(out, save_projection, per_person)
    if not plan:
        files = [save_projection, per_person]
        _check_outputs(out, files, [original, protected, control, policy], config, overwrite=overwrite)

    draw = randomize if randomize_seed is None else randomize_seed
    chosen = None if attackers is None else [name.strip() for name in attackers.split(",")]
    if policy is not None or fail_above is not None:
        _check_gate(config, quick=quick)

    from cvpl.workflows.audit import ProjectionNotSavedError, audit, plan_audit  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    start_engine(where, master, context)
    guessed = None if config is not None else _guess(original, protected, most, where)
    used = 0 if guessed is None or as_json else show_assumptions(guessed, details=details)
    settings = guessed or _settings(config, policy)
    if plan:
        from cvpl.reports.plan import show_plan  # noqa: PLC0415

        with Progress() as progress:
            progress("reading", None)
            planned = plan_audit(
                original,
                protected,
                settings,
                control=control,
                attackers=chosen,
                randomize=draw,
                quick=quick,
                first_answer=True,
                page=out is not None,
                scenario=scenario,
                memory=allowed,
            )
        with reader_may_leave():
            show_plan(planned, page())
        return
    unsaved, started = None, perf_counter()
    try:
        with Progress() as progress:
            result = audit(
                original,
                protected,
                settings,
                control=control,
                fail_above=fail_above,
                attackers=chosen,
                randomize=draw,
                quick=quick,
                population=population,
                scenario=scenario,
                memory=allowed,
                save_projection_to=save_projection,
                per_person=per_person,
                per_person_id=per_person_id,
                overwrite=overwrite,
                engine=where,
                progress=progress,
                on_preflight=lambda findings: _before_attacks(findings, out, progress),
                on_first_answer=lambda first: progress.note(f"Quick look, to be refined: {first.sentence}"),
            )
    except ProjectionNotSavedError as error:
        result, unsaved = error.result, error
    wrote = None if out is None else _write(result, out, guessed, day)
    lines = [] if wrote is None else [f"\n{wrote}"]
    if result.attacker_scenario is not None:
        # How long an attack takes is part of a scenario. The result has no times: it is the same on every machine.
        lines.append(f"The scenario {result.attacker_scenario.name} took {perf_counter() - started:.1f} s to run here.")
    if guessed is not None:
        more = [] if control is None else ["--control", control]
        lines.append(_next_command([original, protected], [*more, *same_engine(where, master)], out))
    print_result(result, lines, as_json=as_json, details=details, used=used)
    for line in _closing_lines(per_person, unsaved):
        tell(line)
    closed = [] if result.policy is None or result.policy.met else result.policy.reasons
    for reason in closed if as_json else ():
        tell(f"Policy not met: {reason}.")
    if closed or unsaved is not None:
        raise typer.Exit(ExitCode.GATE if closed else ExitCode.USAGE)


def _check_places(out: Path | None, projection: Path | None, per_person: Path | None) -> None:
    """Refuse outputs that cannot be written."""
    if out is not None:
        check_folder(out, "--out")
    if projection is not None:
        check_file(projection, "--save-projection")
    if per_person is not None:
        check_file(per_person, "--per-person")


def _check_gate(config: Path | None, *, quick: bool) -> None:
    """Refuse a gate without the full audit, or without a configuration."""
    if quick:
        raise UsageError("a gate needs the full audit: a quick look leaves out canaries. Leave out --quick.")
    if config is None:
        raise UsageError(
            "a gate needs --config: a decision must not rest on guessed roles. Write a configuration with `cvpl init`, "
            "check it, and pass it."
        )


def _check_outputs(
    out: Path | None, files: Sequence[Path | None], read: list[object], config: Path | None, *, overwrite: bool
) -> None:
    """Refuse outputs that are inputs, or that exist."""
    written = [file for file in files if file is not None]
    if out is not None:
        written += [out / name for name in (FILES if config is not None else (*FILES, CONFIG))]
    if not written:
        return
    from cvpl.config.loading import named_files  # noqa: PLC0415 - only if a file is written

    check_outputs(written, [*read, *([] if config is None else named_files(config))], overwrite=overwrite)


def _settings(config: Path | None, policy: str | None) -> Path | WithPolicy:
    """The configuration, with the policy of --policy if there is one."""
    assert config is not None  # noqa: S101 - without one the settings are guessed
    if policy is None:
        return config
    from cvpl.config.loading import WithPolicy, read_policy  # noqa: PLC0415 - only if needed

    return WithPolicy(config, read_policy(policy))


def _guess(
    original: str, protected: str, limits: dict[str, int | str] | None, engine: Literal["spark"] | None
) -> Proposal:
    """Guess roles and types."""
    from cvpl.workflows.audit import propose  # noqa: PLC0415

    return propose(original, protected, compare_sensitive=True, limits=limits, engine=engine)


def print_result(result: AuditResult, lines: list[str], *, as_json: bool, details: bool, used: int) -> None:
    """Print the result as JSON, or its summary and what else is told; `used` lines were printed before."""
    with reader_may_leave():
        if as_json:
            # Bytes, so that the terminal's encoding and line ends do not change them.
            typer.echo(result.to_json().encode(), nl=False)
            return
        show_result(result, lines, details=details, used=used)


def _closing_lines(per_person: Path | None, unsaved: Exception | None) -> list[str]:
    """What is said after the result, beside it."""
    private = f"{per_person} tells of single people: only you can read it. Delete it when you are done."
    return [*([] if per_person is None else [private]), *([] if unsaved is None else [str(unsaved)])]


def _before_attacks(findings: Sequence[Finding], out: Path | None, progress: Progress) -> None:
    """Show urgent findings, and load what draws the page's charts while the attacks run."""
    from cvpl.reports.sections.warnings import urgent_findings  # noqa: PLC0415 - only once the tables are read

    progress.note("\n".join(urgent_findings(findings)))
    if out is not None:
        from cvpl.reports.page import start_charts  # noqa: PLC0415 - only if a page is written

        start_charts()


def _write(result: AuditResult, out: Path, guessed: Proposal | None, day: Day) -> str:
    """Write the result, its page and the guessed configuration, and say where they are."""
    from cvpl.reports.files import write_result  # noqa: PLC0415 - only if a file is written

    more = {} if guessed is None else {CONFIG: guessed.text}
    path, page_at, *_ = write_result(result, out, FILES[1], more=more, date=day)
    return f"Written: {path}, and the page to share: {page_at}"


def _next_command(tables: list[str], more: list[str], out: Path | None) -> str:
    """How to go on after an audit of these tables, with more options, whose roles were guessed."""
    words = ["cvpl", "audit", *tables]
    if out is None:
        return f"Keep the result and the guessed configuration: {shlex.join([*words, *more, '--out', 'DIR'])}"
    again = shlex.join([*words, "--config", str(out / CONFIG), *more, "--out", str(out), "--overwrite"])
    return f"Check the guesses in {out / CONFIG}, then run: {again}"
