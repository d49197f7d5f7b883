"""The base classes of all parts of a result."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

from cvpl.estimates import Estimate


class Section(BaseModel):
    """An immutable part of a result. Unknown fields are ignored, so older versions can read newer results."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class EstimateSection(Section):
    """A section with one estimate: its value in the field `VALUE`, and beside it the fields of its interval."""

    VALUE: ClassVar[str] = "estimate"

    @classmethod
    def of(cls, found: Estimate, **more: Any) -> Self:
        """The section of an estimate, with the other fields that it has."""
        interval = {name: item for name, item in vars(found).items() if name != "value" and name in cls.model_fields}
        return cls(**{cls.VALUE: found.value, **interval, **more})
