"""The commands on several releases or results: `cvpl compare`, `benchmark`, `report` and `diff`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from cvpl.cli.terminal import (
    DATE,
    DETAILS,
    ORIGINAL_HELP,
    OVERWRITE,
    Progress,
    check_file,
    check_folder,
    memory_bytes,
    page,
    reader_may_leave,
    report_date,
    say,
)
from cvpl.errors import ExitCode, UsageError
from cvpl.files import check_outputs

COMPARE_FILES = ("comparison.json", "comparison.html")

COMPARE_EXIT_CODES = (
    "Exit codes: 0 done, whatever the ranking; 2 invalid call, or the output cannot be written; 3 a table or the "
    "configuration cannot be used; 4 a limit was hit; 5 interrupted; 6 internal error."
)


def compare_command(
    original: Path = typer.Argument(metavar="ORIGINAL", help=ORIGINAL_HELP, show_default=False),
    releases: list[Path] | None = typer.Argument(
        None,
        metavar="[RELEASE...]",
        help="The released tables, each made in a different way. With --mechanism there may be none.",
        show_default=False,
    ),
    config: Path = typer.Option(
        ..., "--config", "-c", metavar="FILE", help="The audit.yaml; `cvpl init` writes a first one."
    ),
    control: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="People like the originals who are known to be absent from all releases. Without them, or true matches, "
        "releases cannot be ranked.",
    ),
    mechanism: list[str] | None = typer.Option(
        None,
        "--mechanism",
        "-m",
        metavar="NAME=COMMAND",
        help="Compare a mechanism over several draws. A command has {input}, {output} and, if it takes one, {seed} in "
        "it, such as 'noise=python noise.py {input} {output} {seed}', and runs without a shell. Or one of `cvpl "
        "protect` with its strength, such as 'coarse=mondrian 10'. Name several by repeating the option.",
        show_default=False,
    ),
    draws: int | None = typer.Option(
        None,
        metavar="NUMBER",
        min=2,
        help="Releases of each mechanism, each with its own seed; 5 if not given. More give narrower intervals.",
        show_default=False,
    ),
    timeout: float | None = typer.Option(
        None, metavar="SECONDS", help="The longest that a command may take for a release."
    ),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder for comparison.json and comparison.html; created if needed. Without it nothing is written.",
    ),
    attackers: str | None = typer.Option(
        None, metavar="NAMES", help="Run only these of the configuration's attackers; separate by commas."
    ),
    memory: str | None = typer.Option(
        None,
        metavar="SIZE",
        help="The memory limit, such as 4GB; the work is split into pieces that fit, or refused with exit code 4.",
    ),
    overwrite: bool = OVERWRITE,
    details: bool = DETAILS,
    as_json: bool = typer.Option(False, "--json", help="Print the content of comparison.json instead of the summary."),
) -> None:
    """Compare several releases of ORIGINAL: risk, utility, their ranking, and which are efficient.

    With --mechanism, mechanisms are compared over several draws each, beside releases that are given.
    """
    allowed, files = memory_bytes(memory), releases or []
    mechanisms = _mechanisms(mechanism or [])
    if not files and not mechanisms:
        raise UsageError("nothing to compare: name at least one RELEASE, or a mechanism with --mechanism NAME=COMMAND.")
    if not mechanisms and (draws is not None or timeout is not None):
        raise UsageError("--draws and --timeout are for mechanisms. Name one with --mechanism, or leave them out.")
    if out is not None:
        from cvpl.config.loading import named_files  # noqa: PLC0415 - only if a file is written

        check_folder(out, "--out")
        read = [original, *files, control, *named_files(config)]
        check_outputs([out / name for name in COMPARE_FILES], read, overwrite=overwrite)
    chosen = None if attackers is None else [name.strip() for name in attackers.split(",")]

    from cvpl.workflows.compare.compare import DRAWS, compare  # noqa: PLC0415

    with Progress() as progress:
        result = compare(
            original,
            files,
            config,
            control=control,
            mechanisms=mechanisms,
            draws=DRAWS if draws is None else draws,
            timeout=timeout,
            folder=out,
            attackers=chosen,
            memory=allowed,
            progress=progress,
        )
    path = page_at = None
    if out is not None:
        from cvpl.reports.files import write_result  # noqa: PLC0415 - only if a file is written

        path, page_at = write_result(result, out, COMPARE_FILES[1])
    with reader_may_leave():
        if as_json:
            # Bytes, so that the terminal's encoding and line ends do not change them.
            typer.echo(result.to_json().encode(), nl=False)
            return
        from cvpl.reports.terminal import LINES, show  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

        show(result, page(), details=details, most=LINES if path is None else LINES - 3)
        if path is not None:
            say(f"\nWritten: {path}, and the page to share: {page_at}")


def _mechanisms(texts: list[str]) -> dict[str, str]:
    """The mechanisms by their names. Raises UsageError for a text without a name, and for a name used twice."""
    found: dict[str, str] = {}
    for text in texts:
        name, separator, what = (part.strip() for part in text.partition("="))
        if not separator or not name or not what or any(sign in name for sign in " {}"):
            raise UsageError(
                "--mechanism: the mechanism has no name. Write NAME=COMMAND, such as 'noise=python noise.py {input} "
                "{output} {seed}'; a name has no spaces."
            )
        if name in found:
            raise UsageError(f"--mechanism: the name '{name}' is used twice. Give each mechanism its own.")
        found[name] = what
    return found


BENCHMARK_FILES = ("benchmark.json", "leaderboard.md", "report.html", "leaderboard.csv")

BENCHMARK_EXIT_CODES = (
    "Example: cvpl benchmark benchmarks/manifests/*.yaml --data tables --out suite. Exit codes: 0 done; 2 invalid "
    "call, or the output cannot be written; 3 a manifest cannot be used, and nothing was done, or a release could not "
    "be audited or assessed, and all others were; 5 interrupted; 6 internal error."
)


def benchmark_command(
    manifests: list[Path] = typer.Argument(
        metavar="MANIFEST...",
        help="YAML files that describe an original, its releases and how they were made; a folder means its "
        "benchmark.yaml.",
        show_default=False,
    ),
    data: Path | None = typer.Option(
        None, metavar="FOLDER", help="The folder of the tables. Without it, each manifest's own folder."
    ),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder for benchmark.json, leaderboard.md, leaderboard.csv, report.html and the results of all audits; "
        "created if needed. Interrupted runs resume. Without it nothing is written.",
    ),
    only: list[str] | None = typer.Option(
        None,
        metavar="NAMES",
        help="Audit only these releases, as RELEASE or MANIFEST/RELEASE; separate by commas. The leaderboard in --out "
        "then has only these; kept results of the others stay.",
    ),
    memory: str | None = typer.Option(
        None,
        metavar="SIZE",
        help="The memory limit, such as 4GB; the work is split into pieces that fit, or the release fails.",
    ),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace an existing leaderboard. Kept results of the same inputs are used again."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the content of benchmark.json instead of the tables."),
) -> None:
    """Audit every release of the manifests, and put them on one leaderboard.

    Each release is one `cvpl audit`, with its figures. A release that cannot be audited has a row with the reason.
    """
    allowed = memory_bytes(memory)
    if out is not None:
        from cvpl.config.loading import named_files  # noqa: PLC0415 - only if a file is written

        check_folder(out, "--out")
        described = [item / "benchmark.yaml" if item.is_dir() else item for item in manifests]
        read = [file for item in described for file in named_files(item, data)]
        check_outputs([out / name for name in BENCHMARK_FILES], read, overwrite=overwrite)
    chosen = None if only is None else [name.strip() for names in only for name in names.split(",")]

    from cvpl.workflows.benchmark.benchmark import benchmark  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    with Progress() as progress:
        result = benchmark(
            manifests,
            data=data,
            folder=out,
            only=chosen,
            memory=allowed,
            progress=progress,
            on_damaged=progress.note,
        )
    if out is not None:
        from cvpl.reports.files import write_result  # noqa: PLC0415 - only if a file is written

        written = write_result(result, out, *BENCHMARK_FILES[1:])
    with reader_may_leave():
        if as_json:
            # Bytes, so that the terminal's encoding and line ends do not change them.
            typer.echo(result.to_json().encode(), nl=False)
        else:
            from cvpl.reports.terminal import show  # noqa: PLC0415

            show(result, page())
            if out is not None:
                say("\nWritten: " + ", ".join(map(str, written)))
    if any(row.status != "assessed" for row in result.rows):
        raise typer.Exit(ExitCode.BAD_INPUT)


class Format(StrEnum):
    """The formats of a report."""

    html = "html"
    pdf = "pdf"
    md = "md"


class Paper(StrEnum):
    """The sizes of paper."""

    a4 = "a4"
    letter = "letter"


def report_command(
    result: Path = typer.Argument(
        metavar="RESULT",
        help="A result.json, comparison.json, surface.json, benchmark.json or trial.json, or its folder.",
        show_default=False,
    ),
    kind: Format = typer.Option(
        Format.html,
        "--format",
        help="html: one page to share. pdf: the same for printing; needs an installed Chromium, or the extra "
        "cvpl\\[pdf]. md: a short version for a pull request.",
    ),
    out: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="The file; by default report.html (comparison.html, surface.html, trial.html), .pdf or .md beside the "
        "result.",
    ),
    date: str | None = DATE,
    paper: Paper = typer.Option(Paper.a4, "--paper", help="The paper of a PDF."),
    one_page: bool = typer.Option(
        False, "--one-page", help="Print only the sheet of an audit, the first page of its PDF."
    ),
    overwrite: bool = OVERWRITE,
) -> None:
    """Write the report of a finished audit, comparison, surface, benchmark or trial: nothing is recomputed."""
    if out is not None and out.suffix.lower() != f".{kind}":
        raise typer.BadParameter(f"the file's extension must be .{kind}, as in report.{kind}", param_hint="--out")

    day = report_date(date)
    if one_page and kind is not Format.pdf:
        raise UsageError("--one-page is for a PDF of an audit. Add --format pdf.")

    from cvpl.result.file import read_any  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    found, source = read_any(result)
    stem = "report" if source.stem in ("result", "benchmark") else source.stem
    file = source.with_name(f"{stem}.{kind}") if out is None else out
    check_file(file, "--out")
    check_outputs([file], [source], overwrite=overwrite)
    from cvpl.reports.files import write_report  # noqa: PLC0415 - only if there is a result

    say(f"Written: {write_report(found, file, date=day, paper=paper.value, one_page=one_page)}")


def diff_command(
    before: Path = typer.Argument(metavar="BEFORE", help="The earlier result.json, or its folder.", show_default=False),
    after: Path = typer.Argument(metavar="AFTER", help="The later one.", show_default=False),
) -> None:
    """Compare two results: figures side by side, whether they differ significantly, and what else changed."""
    from cvpl.result.file import read_results  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    results = read_results(before, after)
    from cvpl.reports.difference import difference, difference_sections  # noqa: PLC0415 - only if there are results
    from cvpl.reports.terminal import show_sections  # noqa: PLC0415

    found = difference(*results)
    with reader_may_leave():
        show_sections(difference_sections(found), page())
