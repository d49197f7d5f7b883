"""What every part of a result is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen part of a result. Readers of an older version skip what they do not know."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)
