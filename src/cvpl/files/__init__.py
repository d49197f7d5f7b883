"""Files that are read, that are whole or not there, that leave nothing behind, and what may be replaced."""

from cvpl.files.lines import append_line, read_lines
from cvpl.files.outputs import check_outputs
from cvpl.files.temporary import private_folder, remove_abandoned, remove_own, temporary_place, unnamed_file
from cvpl.files.whole import Record, naming, record_file, record_kept, recorded_files, whole_files, write_whole

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
