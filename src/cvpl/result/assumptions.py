"""What an audit without a configuration assumed about the tables."""

from __future__ import annotations

from cvpl.result.section import Section


class AssumedColumn(Section):
    """How a column was used: its role and type, whether it is a blocking key, why, and what the user should check."""

    column: str
    role: str
    type: str | None
    blocks: bool
    reason: str
    doubt: str | None


class Assumptions(Section):
    """The guesses of an audit without a configuration: its columns, and how the tables were read and matched."""

    columns: list[AssumedColumn]
    notes: list[str]
