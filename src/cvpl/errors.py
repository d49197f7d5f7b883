"""What can go wrong, and the exit code that says so.

    CvplError
    ├── UsageError      2   the call itself is wrong
    ├── InputError      3   tables or configuration cannot be used; carries every problem found
    ├── LimitError      4   the work does not fit a limit
    └── InternalError   6   a fault of this program

An interrupted run exits with 5 and a closed gate with 10; neither is an error of its own. No message holds a cell
of the input: a problem names file, row and column, what kind of thing was found, what is allowed and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    DONE = 0
    USAGE = 2
    BAD_INPUT = 3
    LIMIT = 4
    INTERRUPTED = 5
    INTERNAL = 6
    GATE = 10


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a table or the configuration.

    `rows` are 1-based and count records, the header left out; `count` is how many records have the problem.
    """

    where: str
    what: str
    cure: str
    column: str | None = None
    row: int | None = None
    count: int | None = None

    def __str__(self) -> str:
        """One sentence on the place and the fault, one on the cure."""
        place = self.where
        if self.row is not None:
            place += f", row {self.row}"
        if self.column is not None:
            place += f", column '{self.column}'"
        others = 0 if self.count is None else self.count - 1
        more = f" (and {others} more row{'s' * (others > 1)})" if others > 0 else ""
        return f"{place}: {self.what}{more}. {self.cure}"


class CvplError(Exception):
    """The root of every error that this package raises on purpose."""

    exit_code = ExitCode.INTERNAL


class UsageError(CvplError):
    """The call is wrong: an option, an argument, a combination of them."""

    exit_code = ExitCode.USAGE


class InputError(CvplError):
    """The tables or the configuration cannot be used. `problems` holds all that was found, not only the first."""

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class LimitError(CvplError):
    """The work does not fit a stated limit, such as the memory budget."""

    exit_code = ExitCode.LIMIT


class InternalError(CvplError):
    """A fault of this program, not of the input."""


def place_of(error: BaseException) -> str:
    """The module and line at which an error was raised; of an unforeseen one that is all that may be told."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
