"""A result that is a file of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar, Self

from cvpl.files import write_whole
from cvpl.result.section import Section


class Document(Section):
    """A section that is written to a JSON file, whole or not at all, and read back."""

    FILE: ClassVar[str]

    def to_json(self) -> str:
        """The result as JSON, the same bytes for the same result."""
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a result, of this version or an earlier one."""
        return cls.model_validate_json(text)

    def write(self, directory: str | Path) -> Path:
        """Write the file into `directory`, whole or not at all; returns its path."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.FILE
        write_whole(path, self.to_json())
        return path
