"""Files that are whole or not there."""

from __future__ import annotations

from pathlib import Path


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; text in UTF-8 with plain line ends, whatever the system."""
    draft = file.with_name(f".{file.name}.part")
    try:
        draft.write_bytes(content if isinstance(content, bytes) else content.encode())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
