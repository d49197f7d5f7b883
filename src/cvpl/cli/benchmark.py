"""`cvpl benchmark`: manifests in, one leaderboard of all their releases out."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.cli.output import check_folder, page, reader_may_leave, say
from cvpl.cli.values import memory_bytes
from cvpl.errors import ExitCode
from cvpl.files import check_outputs

FILES = ("benchmark.json", "leaderboard.md", "report.html", "leaderboard.csv")

EXIT_CODES = (
    "Example: cvpl benchmark benchmarks/manifests/*.yaml --data tables --out suite. Exit codes: 0 done; 2 invalid "
    "call, or the output cannot be written; 3 a manifest cannot be used, and nothing was done, or a release could not "
    "be audited or assessed, and all others were; 5 interrupted; 6 internal error."
)


def command(
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
        check_outputs([out / name for name in FILES], read, overwrite=overwrite)
    chosen = None if only is None else [name.strip() for names in only for name in names.split(",")]

    from cvpl.cli.progress import Progress  # noqa: PLC0415
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

        written = write_result(result, out, *FILES[1:])
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
