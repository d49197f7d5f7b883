"""The base of every value that a person can set."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A frozen value whose fields are the settings; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
