"""Public data sets, read from a local copy or, on request, fetched from their source and checked.

    people = cvpl.datasets.adult(fetch=True)
    cvpl.audit(people.path, "released.csv", {**people.config, "attacker": "paper"})

Local copies are in `folder`, else in the folder of the environment variable CVPL_DATA, else in the user's cache.
Nothing is fetched unless `fetch=True` is passed and the table is missing.
"""

from __future__ import annotations

from pathlib import Path

from cvpl.datasets import described
from cvpl.datasets.dataset import Dataset
from cvpl.datasets.loading import load

__all__ = ["Dataset", "adult", "adult_study", "german_credit", "nist_ma", "stroke"]


def adult(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """UCI Adult: 32,561 people of the 1994 census, 15 columns; `adult/adult.csv`, made from UCI's `adult.data`.

    The folder may also have a release with k = 10, whose true matches are known, and ARX hierarchies. With `fetch` the
    file is downloaded from UCI, and kept only if it has the known SHA-256.
    """
    return load(described.ADULT, folder, fetch=fetch)


def german_credit(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """German Credit: 1,000 people, 21 columns; `german/german.csv`, made from UCI's `german.data`.

    With `fetch` the file is downloaded from UCI, and kept only if it has the known SHA-256.
    """
    return load(described.GERMAN_CREDIT, folder, fetch=fetch)


def stroke(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """A public table on strokes: 5,110 people, 12 columns; `stroke/stroke.csv`, with ARX releases in the same folder.

    It is not fetched, since its source requires a login: the error says what to download and where to put it. The
    downloaded file is checked by its SHA-256.
    """
    return load(described.STROKE, folder, fetch=fetch)


def nist_ma(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """NIST's excerpt of the 2019 American Community Survey, Massachusetts: 7,634 people; `nist_ma/ma2019.csv`.

    The folder may also have releases of the Collaborative Research Cycle. It is not fetched, since its source publishes
    no checksum: the error says what to download and where to put it.
    """
    return load(described.NIST_MA, folder, fetch=fetch)


def adult_study(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """Adult, split in two: 24,421 people from whom releases were made, and as many as the control.

    `adult_study_2021/trn.csv.gz` and `val.csv.gz`, with ten releases in the same folder. It is not fetched, since its
    source publishes no checksum: the error says what to download and where to put it.
    """
    return load(described.ADULT_STUDY, folder, fetch=fetch)
