"""What a result was made from, and what repeats it."""

from __future__ import annotations

import platform
from importlib.metadata import version

from cvpl import result as out
from cvpl.config.resolved import Plan
from cvpl.tables.pair import Inputs


def described(inputs: Inputs) -> dict[str, out.Input]:
    """The tables by their part in the audit: name, size and, for a file, the SHA-256 of its bytes."""
    return {
        role: out.Input(name=it.name, rows=it.rows, columns=it.columns, sha256=it.sha256)
        for role, it in inputs.descriptions.items()
    }


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that compute figures."""
    return {"python": platform.python_version()} | {it: version(it) for it in ("cvpl", "numpy", "duckdb")}


def provenance(plan: Plan, drawn: out.Randomization | None = None) -> out.Provenance:
    """Seed, versions, the configuration, and what was drawn beyond it."""
    return out.Provenance(
        seed=plan.config.seed,
        versions=versions(),
        config=plan.config.model_dump(mode="json", exclude_none=True),
        randomization=drawn,
    )
