"""What an audit without a configuration assumed about the tables."""

from __future__ import annotations

from cvpl.result.section import Section


class AssumedColumn(Section):
    """How a column was used: its role and type, whether it is a blocking key, why, and what the user should check.

    `unread` says that the release has labels in it that nothing explains, so that they match no original label.
    """

    column: str
    role: str
    type: str | None
    blocks: bool
    reason: str
    doubt: str | None
    unread: bool = False


class Assumptions(Section):
    """The guesses of an audit without a configuration: its columns, and how the tables were read and matched."""

    columns: list[AssumedColumn]
    notes: list[str]
