"""Real tables made by others, beside the repository; tests that need them are skipped, with the reason, without."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared" / "data"
NO_DATA = "the shared data folder is not beside the repository"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason=NO_DATA)
