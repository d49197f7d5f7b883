"""`cvpl compare`: several releases of one original in, their ranking by risk and utility out."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.cli.output import check_folder, page, reader_may_leave, say
from cvpl.cli.values import DETAILS, ORIGINAL_HELP, OVERWRITE, memory_bytes
from cvpl.errors import UsageError
from cvpl.files import check_outputs

FILES = ("comparison.json", "comparison.html")

EXIT_CODES = (
    "Exit codes: 0 done, whatever the ranking; 2 invalid call, or the output cannot be written; 3 a table or the "
    "configuration cannot be used; 4 a limit was hit; 5 interrupted; 6 internal error."
)


def command(
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
        check_outputs([out / name for name in FILES], read, overwrite=overwrite)
    chosen = None if attackers is None else [name.strip() for name in attackers.split(",")]

    from cvpl.cli.progress import Progress  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy
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

        path, page_at = write_result(result, out, FILES[1])
    with reader_may_leave():
        if as_json:
            # Bytes, so that the terminal's encoding and line ends do not change them.
            typer.echo(result.to_json().encode(), nl=False)
            return
        from cvpl.reports.brief import LINES  # noqa: PLC0415
        from cvpl.reports.terminal import show  # noqa: PLC0415

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
