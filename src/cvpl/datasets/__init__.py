"""Public data sets, read from a local copy or, when asked, fetched from their source and checked.

    people = cvpl.datasets.adult(fetch=True)
    cvpl.audit(people.path, "released.csv", {**people.config, "attacker": "paper"})

A local copy lies in `folder`, else in the folder that the environment variable CVPL_DATA names, else in the user's own
cache. Nothing is fetched unless `fetch=True` is passed and the table is not there.
"""

from __future__ import annotations

from pathlib import Path

from cvpl.datasets import described
from cvpl.datasets.dataset import Dataset
from cvpl.datasets.loading import load

__all__ = ["Dataset", "adult", "adult_study", "german_credit", "nist_ma", "stroke"]


def adult(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """UCI Adult: 32,561 people of the 1994 census, 15 columns; `adult/adult.csv`, made from UCI's `adult.data`.

    Beside it may lie a release with k = 10, whose rows are known, and hierarchies of ARX. With `fetch` the file comes
    from UCI, and is kept only with the SHA-256 that is known for it.
    """
    return load(described.ADULT, folder, fetch=fetch)


def german_credit(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """German Credit: 1,000 people, 21 columns; `german/german.csv`, made from UCI's `german.data`.

    With `fetch` the file comes from UCI, and is kept only with the SHA-256 that is known for it.
    """
    return load(described.GERMAN_CREDIT, folder, fetch=fetch)


def stroke(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """A public table on strokes: 5,110 people, 12 columns; `stroke/stroke.csv`, with releases of ARX beside it.

    It is not fetched, since its source asks for a login: the error says what to download and where to put it. The
    file that was downloaded is checked by its SHA-256.
    """
    return load(described.STROKE, folder, fetch=fetch)


def nist_ma(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """NIST's excerpt of the 2019 American Community Survey, Massachusetts: 7,634 people; `nist_ma/ma2019.csv`.

    Beside it may lie releases of the Collaborative Research Cycle. It is not fetched, since no checksum of its source
    is published: the error says what to download and where to put it.
    """
    return load(described.NIST_MA, folder, fetch=fetch)


def adult_study(folder: str | Path | None = None, *, fetch: bool = False) -> Dataset:
    """Adult, parted in two: 24,421 people from whom releases were made, and as many who are the control.

    `adult_study_2021/trn.csv.gz` and `val.csv.gz`, with ten releases beside them. It is not fetched, since no checksum
    of its source is published: the error says what to download and where to put it.
    """
    return load(described.ADULT_STUDY, folder, fetch=fetch)
