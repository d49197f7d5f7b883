"""A proposed configuration for two tables, for the user to check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cvpl.config.text import parse_config
from cvpl.config.written import AuditConfig
from cvpl.errors import UsageError
from cvpl.files import write_whole
from cvpl.tables.proposal.proposal import propose_text


@dataclass(frozen=True)
class Proposal:
    """A proposed configuration: `text` is the audit.yaml with its reasons as comments, `config` the same as a value.

    Roles and types are guesses: read the comments before you audit with it.
    """

    text: str
    config: AuditConfig

    def write(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the text to a file atomically, and return its path.

        Raises UsageError if the file already exists, unless `force`.
        """
        file = Path(path)
        if file.exists() and not force:
            raise UsageError(f"{file} already exists. Name another file, or replace it with force=True.")
        write_whole(file, self.text)
        return file


def propose(original: object, released: object) -> Proposal:
    """Propose a configuration for a table and its release, with a reason for every guess.

    Tables are paths (CSV, CSV.gz, Parquet) or dataframes that support Arrow. Roles, types, blocking keys and identities
    are guessed from names, counts and how the two tables agree; comments contain no cell. Raises InputError if the
    tables cannot be compared.
    """
    text = propose_text(original, released)
    return Proposal(text, parse_config(text))
