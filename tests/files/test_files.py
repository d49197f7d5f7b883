"""Files that are whole or not there, whoever else writes them."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cvpl.cli.main import run
from cvpl.files import private_folder, recorded_files, remove_abandoned, whole_files, write_whole


def test_two_writers_of_one_file_do_not_touch_each_other(tmp_path, monkeypatch):
    """Both have written their draft before either puts it in place."""
    both_written, put = threading.Barrier(2), os.replace

    def together(draft, target):
        both_written.wait(30)
        return put(draft, target)

    monkeypatch.setattr(os, "replace", together)
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
    monkeypatch.setattr(os, "replace", broken)
    with recorded_files() as record, pytest.raises(OSError, match="no space"):
        write_whole(file, "after")
    assert (record.files, file.read_text(encoding="utf-8"), list(tmp_path.iterdir())) == ([], "before", [file])


def test_a_record_holds_each_file_once_and_only_those_of_its_block(tmp_path):
    write_whole(tmp_path / "before", "")
    with recorded_files() as record:
        for name in ("a", "b", "a"):
            write_whole(tmp_path / name, name)
    write_whole(tmp_path / "after", "")
    assert record.files == [tmp_path / "a", tmp_path / "b"]


LOCKED = pytest.mark.skipif(os.name != "posix", reason="folders are locked on a POSIX system only")


@LOCKED
def test_a_private_folder_is_for_its_owner_only_and_goes_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with private_folder() as folder:
        assert folder.parent == tmp_path and stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "inside").mkdir()
    assert not list(tmp_path.iterdir())


@LOCKED
def test_every_start_removes_what_a_killed_run_left_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned = tmp_path / ".cvpl-0123456789abcdef"
    abandoned.mkdir()
    (abandoned / "cells.csv").write_text("cells")
    others = [tmp_path / ".cvpl-notes", tmp_path / ".cvpl-0123456789abcdef.bak", tmp_path / "cvpl-0123456789abcdef"]
    for other in others:
        other.mkdir()
    (tmp_path / ".cvpl-fedcba9876543210").symlink_to(others[0])
    with private_folder() as used:
        assert run(["--version"]) == 0
        assert not abandoned.exists() and used.exists()
        assert all(other.exists() for other in others) and (tmp_path / ".cvpl-fedcba9876543210").is_symlink()


@LOCKED
def test_the_next_write_removes_the_draft_of_a_killed_run_from_the_folder(tmp_path):
    abandoned = tmp_path / ".cvpl-0123456789abcdef"
    abandoned.mkdir()
    (abandoned / "table.csv").write_text("cells")
    write_whole(tmp_path / "file", "new")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@LOCKED
def test_a_folder_that_another_run_removes_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    made, mkdir = [], Path.mkdir

    def swept(folder, *arguments, **more):
        mkdir(folder, *arguments, **more)
        made.append(folder)
        if len(made) == 1:
            remove_abandoned(tmp_path)

    monkeypatch.setattr(Path, "mkdir", swept)
    with private_folder(tmp_path) as folder:
        assert len(made) == 2 and folder == made[1] and folder.is_dir()


NAMES = ("first", "second", "third")


@pytest.mark.parametrize("there", [(), NAMES, NAMES[:1], NAMES[1:]], ids=str)
def test_files_of_an_old_set_and_a_new_one_are_never_together(tmp_path, there, monkeypatch):
    """The writer stops before its first step, before its second, and so on until it stops nowhere."""
    files = [tmp_path / name for name in NAMES]
    done, real = 0, {name: getattr(os, name) for name in ("unlink", "replace", "fsync")}

    def stopping(name, at):
        def step(*arguments, **more):
            nonlocal done
            if "dir_fd" not in more:  # else it is below a folder that is removed as a whole
                done += 1
                if done == at:
                    raise KeyboardInterrupt
            return real[name](*arguments, **more)

        return step

    states = set()
    for at in range(1, 100):
        for file in files:
            file.unlink(missing_ok=True)
        for name in there:
            (tmp_path / name).write_text("old")
        done = 0
        with monkeypatch.context() as patched:
            for name in real:
                patched.setattr(os, name, stopping(name, at))
            try:
                with whole_files(*files) as drafts:
                    for draft in drafts:
                        draft.write_text("new")
            except KeyboardInterrupt:
                stopped = True
            else:
                stopped = False
        texts = {file.name: file.read_text() for file in files if file.exists()}
        states.add(tuple(texts.items()))
        assert len(set(texts.values())) <= 1, texts
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(texts)
        if "first" in there:
            assert "first" in texts
        if not stopped:
            assert at > 6 and texts == dict.fromkeys(NAMES, "new")
            break
    assert len(states) > 3


def test_a_set_that_fails_while_it_is_written_leaves_the_old_one(tmp_path):
    files = [tmp_path / name for name in NAMES]
    for file in files:
        file.write_text("old")

    def write():
        with whole_files(*files) as drafts:
            drafts[0].write_text("new")
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write()
    assert [file.read_text() for file in files] == ["old"] * 3 and len(list(tmp_path.iterdir())) == 3
