"""Errors and their exit codes.

    CvplError
    ├── UsageError      2   the call itself is wrong
    ├── InputError      3   tables or configuration cannot be used; lists every problem found
    ├── LimitError      4   the work exceeds a limit
    └── InternalError   6   a bug in this program

An interrupted run exits with 5 and a failed gate with 10; neither has an error class. No message contains a cell of
the input: a problem names the file, row and column, what was found, what is allowed and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from cvpl.wording import count_phrase


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
    """One problem in a table or the configuration.

    `row` is 1-based and counts records without the header; `count` is how many records have the problem.
    """

    where: str
    what: str
    cure: str
    column: str | None = None
    row: int | None = None
    count: int | None = None

    def __str__(self) -> str:
        """Return one sentence on the location and the problem, and one on the fix."""
        place = self.where
        if self.row is not None:
            place += f", row {self.row}"
        if self.column is not None:
            place += f", column '{self.column}'"
        others = 0 if self.count is None else self.count - 1
        more = f" (and {count_phrase(others, 'more row')})" if others > 0 else ""
        return f"{place}: {self.what}{more}. {self.cure}"


class CvplError(Exception):
    """Base class of every error that this package raises on purpose."""

    exit_code = ExitCode.INTERNAL


class UsageError(CvplError):
    """The call is wrong: an option, an argument, a combination of them."""

    exit_code = ExitCode.USAGE


class InputError(CvplError):
    """The tables or the configuration cannot be used. `problems` holds every problem found, not only the first."""

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Problem, ...]]]:
        """Keep the problems when it comes from another process."""
        return type(self), (self.problems,)


class LimitError(CvplError):
    """The work exceeds a stated limit, such as the memory budget."""

    exit_code = ExitCode.LIMIT


class InternalError(CvplError):
    """A bug in this program, not a problem in the input."""


def place_of(error: BaseException) -> str:
    """Return the module and line that raised an error.

    For an unexpected error nothing else may be shown: its message could contain a cell.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
