"""Work in a fork of the process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from typing import Any


def fork(work: Callable[[str], dict[str, Any]], patience: float) -> dict[str, Any]:
    """Do something in a fork, and return what it says; a fork that hangs or is killed has noticed a fault."""
    mine, theirs = os.pipe()
    scratch = tempfile.mkdtemp(prefix="mutant-")
    child = os.fork()
    if not child:
        os.setsid()
        os.close(mine)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            told = work(scratch)
        except BaseException as error:  # told by the parent
            told = {"error": repr(error), "kind": type(error).__name__}
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(json.dumps(told).encode())
        os._exit(0)
    os.close(theirs)
    done, late = threading.Event(), threading.Event()
    threading.Thread(target=_kill_if_late, args=(child, patience, done, late), daemon=True).start()
    with os.fdopen(mine, "rb") as pipe:
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    done.set()
    hangs = late.is_set() or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM)
    shutil.rmtree(scratch, ignore_errors=True)
    if not said:
        return {"dead": True, "by": "hangs" if hangs else "ends the process", "tests": None}
    told: dict[str, Any] = json.loads(said)
    if "error" in told:
        raise (LookupError if told["kind"] == "LookupError" else RuntimeError)(told["error"])
    return told


def _kill_if_late(child: int, patience: float, done: threading.Event, late: threading.Event) -> None:
    """End a fork after some seconds. A pause of this process, which pauses the fork too, counts for one of them."""
    waited = 0
    while waited < patience:
        if done.wait(1):
            return
        waited += 1
    late.set()
    os.killpg(child, signal.SIGKILL)
