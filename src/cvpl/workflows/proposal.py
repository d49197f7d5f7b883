"""A proposed configuration for two tables, for the user to check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cvpl.config.loading import LimitsLike, limits_of, parse_config
from cvpl.config.written import AuditConfig
from cvpl.files import check_outputs, write_whole
from cvpl.result.setting import AssumedColumn, Assumptions
from cvpl.tables.proposal.proposal import TablesProposal, propose_tables


@dataclass(frozen=True)
class Proposal:
    """A proposed configuration: `text` is the audit.yaml with its reasons as comments, `config` the same as a value.

    Roles and types are guesses: read the comments, or `assumptions`, before you rely on an audit with it.
    """

    text: str
    config: AuditConfig
    assumptions: Assumptions

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the text to a file atomically, and return its path.

        Raises UsageError if the file already exists, unless `overwrite`.
        """
        file = Path(path)
        check_outputs([file], overwrite=overwrite)
        write_whole(file, self.text)
        return file


def propose_here(original: object, released: object, *, compare_sensitive: bool, limits: LimitsLike | None) -> Proposal:
    """Propose a configuration for tables that this process can read."""
    most = None if limits is None else limits_of(limits)
    found = propose_tables(original, released, compare_sensitive=compare_sensitive, limits=most)
    text = found.text()
    return Proposal(text, parse_config(text), _assumptions(found))


def _assumptions(found: TablesProposal) -> Assumptions:
    columns = [
        AssumedColumn(
            column=name,
            role=guess.settings["role"],
            type=guess.settings.get("type"),
            blocks="block" in guess.settings,
            reason=guess.reason,
            doubt="; ".join(guess.doubts) or None,
            unread=bool(guess.unread),
        )
        for name, guess in found.columns.items()
    ]
    notes = list(found.reading_reasons)
    if found.same_order is not None:
        notes.append(found.same_order)
    elif found.truth.keys is None:
        notes.append("no column identifies people in both tables, so the true matches are unknown")
    return Assumptions(columns=columns, notes=notes)
