"""Worker processes end with the process that started them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, time
from dataclasses import dataclass
from pathlib import Path

from cvpl_paper.journal import Journal
from cvpl_paper.running import run_all

@dataclass(frozen=True)
class Sleep:
    key: str
    folder: Path

    def run(self):
        (self.folder / f"{self.key}.pid").write_text(str(os.getpid()))
        time.sleep(60)
        return {}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    try:
        run_all([Sleep(key, folder) for key in "abcd"], Journal(folder, {}), workers=2)
    except KeyboardInterrupt:
        sys.exit(5)
"""


def is_running(process):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def until(holds, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path, end):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    # Ctrl-C reaches every process of the group, so the parent has one of its own here.
    with subprocess.Popen([sys.executable, script, tmp_path], start_new_session=True) as parent:  # noqa: S603 - the script above
        try:
            assert until(lambda: len(list(tmp_path.glob("*.pid"))) == 2, 30)
            assert until(lambda: all(file.read_text() for file in tmp_path.glob("*.pid")), 5)
            workers = [int(file.read_text()) for file in tmp_path.glob("*.pid")]
            began = time.monotonic()
            if end == signal.SIGINT:
                os.killpg(parent.pid, end)
                assert parent.wait(5) == 5
            else:
                parent.kill()
                parent.wait(5)
            assert until(lambda: not any(map(is_running, workers)), 5)
            assert time.monotonic() - began < 5
        finally:
            for process in [parent.pid, *(int(file.read_text()) for file in tmp_path.glob("*.pid"))]:
                if is_running(process):
                    os.kill(process, signal.SIGKILL)
