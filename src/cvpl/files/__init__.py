"""Files that are read, that are whole or not there, that leave nothing behind, and what may be replaced."""

from cvpl.files.writing import (
    Record,
    append_line,
    check_outputs,
    naming,
    private_folder,
    read_lines,
    record_file,
    record_kept,
    recorded_files,
    remove_abandoned,
    remove_own,
    temporary_place,
    unnamed_file,
    whole_files,
    write_whole,
)

__all__ = [
    "Record",
    "append_line",
    "check_outputs",
    "naming",
    "private_folder",
    "read_lines",
    "record_file",
    "record_kept",
    "recorded_files",
    "remove_abandoned",
    "remove_own",
    "temporary_place",
    "unnamed_file",
    "whole_files",
    "write_whole",
]
