"""The entry point: the commands, and how errors become messages and exit codes."""

from __future__ import annotations

import os
import sys

import click
import typer

from cvpl.cli import audit, demo, diff, init
from cvpl.errors import CvplError, ExitCode, InputError

app = typer.Typer(
    name="cvpl",
    help="Measure how well people can still be linked across a table and its protected release.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        from importlib.metadata import version as installed  # noqa: PLC0415 - only here

        typer.echo(f"cvpl {installed('cvpl')}")
        raise typer.Exit


app.command("audit")(audit.command)
app.command("init")(init.command)
app.command("diff")(diff.command)
app.command("demo")(demo.command)


def main() -> None:
    """Run a command; every failure ends in a message and a stated exit code, never in a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run with the given arguments, and return the exit code."""
    try:
        code = app(args=arguments, prog_name="cvpl", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        _tell("Interrupted; nothing was written.")
        return ExitCode.INTERRUPTED
    except InputError as error:
        count = len(error.problems)
        _tell(f"{count} problem{'s' if count > 1 else ''} found; nothing was audited.")
        for problem in error.problems:
            _tell(f"  - {problem}")
        return error.exit_code
    except CvplError as error:
        _tell(str(error))
        return error.exit_code
    except OSError as error:
        # A file or folder that cannot be written; the system's own words hold a path, never a cell.
        _tell(f"{error.strerror or 'the system refused'}: {error.filename or ''}")
        return ExitCode.USAGE
    except Exception as error:
        if os.environ.get("CVPL_DEBUG"):
            raise
        # The message of an unforeseen error could hold a cell of the input, so only its kind and place are told.
        _tell(f"Internal error ({type(error).__name__} at {_place(error)}). This is a fault of cvpl, not of your data.")
        _tell("Please report it. With CVPL_DEBUG=1 the full traceback is shown; it may hold values of your tables.")
        return ExitCode.INTERNAL
    return int(code or 0)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"


def _tell(text: str) -> None:
    typer.echo(text, err=True)
