"""What a result was made from, and what repeats it."""

from __future__ import annotations

import platform
from importlib.metadata import version

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.tables.pair import Inputs


def described(inputs: Inputs) -> dict[str, out.Input]:
    """The tables by their part in the audit: name, size and, for a file, the SHA-256 of its bytes."""
    return {
        role: out.Input(
            name=description.name, rows=description.rows, columns=description.columns, sha256=description.sha256
        )
        for role, description in inputs.descriptions.items()
    }


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that compute figures."""
    return {"python": platform.python_version()} | {item: version(item) for item in ("cvpl", "numpy", "duckdb")}


def provenance(resolved: ResolvedConfig, drawn: out.Randomization | None = None) -> out.Provenance:
    """Seed, versions, the configuration, and what was drawn beyond it."""
    return out.Provenance(
        seed=resolved.config.seed,
        versions=versions(),
        config=resolved.config.model_dump(mode="json", exclude_none=True),
        randomization=drawn,
    )
