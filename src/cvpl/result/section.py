"""The base class of all parts of a result."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """An immutable part of a result. Unknown fields are ignored, so older versions can read newer results."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)
