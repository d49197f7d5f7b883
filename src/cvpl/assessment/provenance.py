"""Provenance of a result: what it was computed from, and what is needed to repeat it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.tables.pair import Inputs

UNKNOWN = "unknown"
"""The version of a package that is not installed as one: run from its sources, or frozen into a program."""


def described(inputs: Inputs) -> dict[str, out.Input]:
    """The tables by their role in the audit: name, size and, for a file, the SHA-256 of its bytes."""
    return {
        role: out.Input(
            name=description.name, rows=description.rows, columns=description.columns, sha256=description.sha256
        )
        for role, description in inputs.descriptions.items()
    }


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that compute figures."""
    packages = ("cvpl", "numpy", "duckdb")
    return {"python": platform.python_version()} | {item: installed_version(item) for item in packages}


def installed_version(package: str) -> str:
    """The version of an installed package, or `unknown`: a finished audit must not be lost for want of its name."""
    try:
        return version(package)
    except PackageNotFoundError:
        return UNKNOWN


def provenance(resolved: ResolvedConfig, drawn: out.Randomization | None = None) -> out.Provenance:
    """Seed, versions, the configuration, and any random draws beyond it."""
    return out.Provenance(
        seed=resolved.config.seed,
        versions=versions(),
        config=resolved.config.model_dump(mode="json", exclude_none=True),
        randomization=drawn,
    )
