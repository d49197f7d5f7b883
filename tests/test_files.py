"""Files that are whole or not there, whoever else writes them."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cvpl.files import recorded_files, write_whole


def test_two_writers_of_one_file_do_not_touch_each_other(tmp_path, monkeypatch):
    """Both have written their draft before either puts it in place."""
    both_written, put = threading.Barrier(2), Path.replace

    def together(draft, target):
        both_written.wait(30)
        return put(draft, target)

    monkeypatch.setattr(Path, "replace", together)
    file, texts = tmp_path / "result.json", ["a" * 100_000, "b" * 200_000]
    with ThreadPoolExecutor(2) as pool:
        for written in [pool.submit(write_whole, file, text) for text in texts]:
            written.result()
    assert file.read_text(encoding="utf-8") in texts
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of a POSIX system")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_file_has_the_permissions_that_a_plain_open_gives(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask


def test_a_name_as_long_as_names_can_be(tmp_path):
    for name in ("n" * 250 + ".json", "a." + "n" * 250):
        write_whole(tmp_path / name, name)
        assert (tmp_path / name).read_text(encoding="utf-8") == name


def test_a_failed_write_leaves_the_file_and_the_folder_alone(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError("no space")

    file = tmp_path / "file"
    file.write_text("before", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", broken)
    with recorded_files() as written, pytest.raises(OSError, match="no space"):
        write_whole(file, "after")
    assert (written, file.read_text(encoding="utf-8"), list(tmp_path.iterdir())) == ([], "before", [file])


def test_a_record_holds_each_file_once_and_only_those_of_its_block(tmp_path):
    write_whole(tmp_path / "before", "")
    with recorded_files() as written:
        for name in ("a", "b", "a"):
            write_whole(tmp_path / name, name)
    write_whole(tmp_path / "after", "")
    assert written == [tmp_path / "a", tmp_path / "b"]
