"""The files that a configuration or a manifest names: a run reads them, so it must not write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cvpl.config.yaml_file import read_yaml
from cvpl.errors import InputError


def named_files(file: Path, base: Path | None = None) -> list[Path]:
    """The file itself and every existing file that a text in it names, relative to `base` or to its own folder.

    A file that cannot be read names none; who needs its content reports that.
    """
    try:
        content = read_yaml(file, "file", "")
    except InputError:
        return [file]
    folder = file.parent if base is None else base
    return [file, *(place for text in _texts(content) if (place := folder / text).is_file())]


def _texts(content: Any) -> Iterator[str]:
    """Every text in a document that may be the name of a file."""
    if isinstance(content, str):
        if content and "\0" not in content and len(content) < 1000:
            yield content
            yield content.partition("#")[0]
    elif isinstance(content, dict):
        for value in content.values():
            yield from _texts(value)
    elif isinstance(content, list):
        for value in content:
            yield from _texts(value)
