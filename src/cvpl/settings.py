"""Base class for user settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """An immutable model whose fields are the settings; unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")
