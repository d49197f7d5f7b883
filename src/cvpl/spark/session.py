"""The Spark session of an audit: the one that is there, or one that is started for it.

What is missing for one is said before anything is read: the package, a pandas that its Arrow functions work with, Java.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from cvpl.errors import UsageError
from cvpl.interruption import ending_signals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTALL = "pip install 'cvpl[spark]'"
OLDEST_JAVA = 17


def check_packages() -> None:
    """Refuse without PySpark 4, or with a pandas that its Arrow functions do not work with."""
    spark = _major_minor("pyspark") or _major_minor("pyspark-client")
    if spark is None:
        raise UsageError(f"--engine spark needs PySpark, which is not installed. Install it with: {_INSTALL}")
    if spark[0] != 4:
        raise UsageError(f"PySpark {spark[0]}.{spark[1]} is installed; allowed is 4. Install it with: {_INSTALL}")
    pandas = _major_minor("pandas")
    if pandas is None or not (2, 2) <= pandas < (3, 0):
        have = "no pandas is installed" if pandas is None else f"pandas {pandas[0]}.{pandas[1]} is installed"
        raise UsageError(
            f"{have}; PySpark's Arrow functions need at least 2.2 and less than 3. Install it with: {_INSTALL}"
        )


def check_java() -> None:
    """Refuse to start a session without Java 17 or later."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else shutil.which(str(Path(home) / "bin" / "java"))
    cure = (
        "Install Java 17 (on Debian: apt-get install openjdk-17-jre-headless) and, if `java` is not on the PATH, set "
        "JAVA_HOME. Or pass frames of a session that runs elsewhere."
    )
    if java is None:
        what = "no Java is on the PATH" if home is None else "JAVA_HOME names a folder without bin/java"
        raise UsageError(f"Spark needs Java, and {what}. {cure}")
    found = _java_version(java)
    if found is not None and found < OLDEST_JAVA:
        raise UsageError(f"Spark needs Java {OLDEST_JAVA} or later, and Java {found} is installed. {cure}")


def _java_version(java: str) -> int | None:
    """The major version of a Java; None if it does not say."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - the user's own Java
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return None if match is None else int(match[1])


def _major_minor(package: str) -> tuple[int, int] | None:
    """The first two numbers of an installed version; None if the package is not installed."""
    try:
        match = re.match(r"(\d+)\.(\d+)", version(package))
    except PackageNotFoundError:
        return None
    return None if match is None else (int(match[1]), int(match[2]))


@contextmanager
def session_for(master: str | None = None, running: SparkSession | None = None) -> Iterator[SparkSession]:
    """A session: the `running` one, else the active one, else a new one, which is stopped at the end.

    `master` is the URL of a cluster for a new one; without it Spark's own settings name it, and else this machine is
    used with all its cores.
    """
    check_packages()
    from pyspark.sql import SparkSession as Sessions  # noqa: PLC0415 - part of an extra

    found = running or (None if master is not None else Sessions.getActiveSession())
    if found is not None:
        yield found
        return
    if "SPARK_REMOTE" not in os.environ and not (master or "").startswith("sc://"):
        check_java()
    # Without it executors would start whatever `python3` is on their path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = Sessions.builder.appName("cvpl")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
    if master is not None:
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    session = None
    try:
        with _signals_wait():
            session = _start_session(builder, master)
        yield session
    finally:
        if session is not None:
            session.stop()


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Have signals that interrupt this process wait; Spark, interrupted while it starts Java, would leave that behind.

    Spark's own handler, which would end the jobs of others too, does not stay.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: handler for number in ending_signals() if callable(handler := signal.getsignal(number))}
    came: list[int] = []
    for number in handlers:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            handlers[signal.Signals(came[0])](came[0], None)


def _start_session(builder: SparkSession.Builder, master: str | None) -> SparkSession:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - part of an extra

    try:
        return builder.getOrCreate()
    except (PySparkException, RuntimeError, OSError) as error:
        where = "on this machine" if master is None else f"with the master {master}"
        raise UsageError(
            f"Spark did not start {where} ({type(error).__name__}). Check that the cluster is there, and what Spark "
            "wrote above."
        ) from None
