"""The entry point: the commands, and how errors become messages and exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import typer

from cvpl.cli import audit, mechanisms, releases, reproduce, tables
from cvpl.cli.stopping import STOPPING
from cvpl.cli.terminal import tell
from cvpl.errors import CvplError, ExitCode, InputError, place_of
from cvpl.files import Record, recorded_files, remove_abandoned, remove_own
from cvpl.interruption import is_interruption
from cvpl.wording import count_phrase, printable

app = typer.Typer(
    name="cvpl",
    help="Measure how well people can still be linked across a table and its protected release.",
    epilog="Start with `cvpl demo`, or with `cvpl init ORIGINAL PROTECTED` on tables of your own.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_WrongCall = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""The base class of usage errors. Typer takes it from Click or, in recent versions, from its own copy."""
_TYPER_INTERRUPTED = 130
"""Typer's exception for Ctrl-C."""
_FILES_SHOWN = 6


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        import cvpl  # noqa: PLC0415 - the version is looked up only here

        typer.echo(f"cvpl {cvpl.__version__}")
        raise typer.Exit


app.command("audit", epilog=audit.EXIT_CODES, no_args_is_help=True)(audit.command)
app.command("compare", epilog=releases.COMPARE_EXIT_CODES, no_args_is_help=True)(releases.compare_command)
app.command("benchmark", epilog=releases.BENCHMARK_EXIT_CODES, no_args_is_help=True)(releases.benchmark_command)
app.command("init", no_args_is_help=True)(tables.init_command)
app.command("report", no_args_is_help=True)(releases.report_command)
app.command("diff", no_args_is_help=True)(releases.diff_command)
app.command("surface", no_args_is_help=True)(mechanisms.surface_command)
app.command("trial", epilog=mechanisms.TRIAL_EXIT_CODES, no_args_is_help=True)(mechanisms.trial_command)
app.command("protect", no_args_is_help=True)(tables.protect_command)
app.command("split", no_args_is_help=True)(tables.split_command)
app.command("simulate", no_args_is_help=True)(tables.simulate_command)
app.command("reproduce")(reproduce.command)
app.command("demo")(tables.demo_command)


def main() -> None:
    """Run a command; every failure ends with a message and a documented exit code, never with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal's encoding lacks are escaped; they must not end the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    STOPPING.listen()
    code = run(sys.argv[1:])
    STOPPING.over()
    # An interruption may fall between the making of a folder and its use.
    remove_own()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run with the given arguments, and return the exit code; a run cut short says which files it wrote.

    Temporary files of runs that were killed are removed first.
    """
    remove_abandoned()
    with recorded_files() as record:
        STOPPING.says(lambda: tell(_interruption_message(record)))
        code = _run(arguments)
        if code in (ExitCode.USAGE, ExitCode.LIMIT, ExitCode.INTERNAL) and record.files:
            tell(f"Written before that: {_files_in_words(record.files)}.")
    return code


def _interruption_message(record: Record) -> str:
    """What a stopped run has written, and how to go on."""
    kept = record.kept
    written = [file for file in record.files if kept is None or kept not in (file, *file.parents)]
    done = f"written before that: {_files_in_words(written)}" if written else "no result was written"
    if kept is not None:
        return f"Interrupted; {done}. What is finished is kept in {kept}; run the same command to resume."
    return f"Interrupted; {done}. Run the same command{' with --overwrite' if written else ''} to start again."


def _files_in_words(written: Sequence[Path]) -> str:
    """The files, but not more of them than a person reads."""
    shown = ", ".join(str(file) for file in written[:_FILES_SHOWN])
    more = len(written) - _FILES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _run(arguments: list[str]) -> int:
    try:
        code = app(args=arguments, prog_name="cvpl", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = _TYPER_INTERRUPTED
    except SystemExit as stop:
        # Typer and Rich exit in this way if the reader of a help text closes the pipe early.
        return ExitCode.INTERRUPTED if stop.code else ExitCode.DONE
    except Exception as error:
        # An interruption may come up as any error: in compiled code, in a worker process, while a module is loaded.
        if not STOPPING.requested and not is_interruption(error):
            return _report_error(error)
        code = _TYPER_INTERRUPTED
    if code == _TYPER_INTERRUPTED:
        STOPPING.say()
        return ExitCode.INTERRUPTED
    return int(code or 0)


def _report_error(error: Exception) -> int:
    """Tell of an error, and return its exit code."""
    if isinstance(error, _WrongCall):
        error.message = printable(error.message)
        error.show()
        return ExitCode.USAGE
    if isinstance(error, InputError):
        count = len(error.problems)
        tell(f"{count_phrase(count, 'problem')} found, and nothing was done:")
        for problem in error.problems:
            tell(f"  - {problem}")
        return error.exit_code
    if isinstance(error, CvplError):
        tell(str(error))
        return error.exit_code
    if isinstance(error, MemoryError):
        tell("Not enough memory on this machine. Lower `search.memory`, or audit a sample of the tables.")
        return ExitCode.LIMIT
    if isinstance(error, OSError):
        # A file or folder that cannot be written; the system's message contains a path, never a cell.
        tell(f"{error.filename or 'standard output'}: {error.strerror or 'the system refused'}.")
        return ExitCode.LIMIT if is_full(error) else ExitCode.USAGE
    return _report_unexpected_error(error)


def _report_unexpected_error(error: Exception) -> int:
    """Tell of an error that no part of the program raised on purpose: of the system's doing, or a fault of its own."""
    failed = disk_failure(error)
    if failed is not None:
        tell(str(failed))
        return failed.exit_code
    if os.environ.get("CVPL_DEBUG"):
        raise error
    # The message of an unexpected error could contain a cell of the input, so only its type and place are reported.
    tell(f"Internal error ({type(error).__name__} at {place_of(error)}). This is a bug in cvpl, not in your data.")
    tell("Please report it. CVPL_DEBUG=1 shows the full traceback, which may contain values of your tables.")
    return ExitCode.INTERNAL


_FULL = ("no space left", "disk quota exceeded", "disk full")


def disk_failure(error: BaseException) -> CvplError | None:
    """The failure of a disk that DuckDB met, as an error with its place; None if the error is another."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(error, duckdb.IOException):
        return None
    from cvpl.tables.source.reading_settings import disk_full, disk_trouble  # noqa: PLC0415 - only if needed

    text = str(error).lower()
    return disk_full() if any(words in text for words in _FULL) else disk_trouble("DuckDB")


def is_full(error: OSError) -> bool:
    """Whether the system refused because a disk, a quota or a file is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
