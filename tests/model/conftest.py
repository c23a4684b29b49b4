from __future__ import annotations

from pathlib import Path

import pytest
from tests.model.rig import Claude


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)
