"""Notices about reading that tell how many records they are about."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.result.published import Disclosure


@dataclass(frozen=True)
class MeasuredNotice:
    """A notice about some records of a table: where they are, how many of how many, and what is true of them.

    It is told when the rounding is known, and not at all if it is about fewer than k records. `noun` is what is
    counted; without one the share is told. `one` is the text for a single record.
    """

    where: str
    records: int
    of: int
    text: str
    noun: str | None = None
    one: str | None = None

    def describe(self, disclosure: Disclosure) -> str | None:
        """The notice with its figure rounded; None if it is about too few records to be told."""
        share = disclosure.share_of_records(self.records, self.of)
        if share is None or not self.records:
            return None
        figure = f"{share:.1%}" if self.noun is None else disclosure.counted(self.records, self.noun)
        text = self.one if self.records == 1 and self.one is not None else self.text
        return f"{self.where}: {figure} {text}"
