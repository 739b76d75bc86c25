"""A workspace with a card, and its chats."""

from pathlib import Path

import pytest

from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock
from onepen.testing.parlour import Parlour


@pytest.fixture
def parlour(root: Path, clock: FixedClock, service: Service) -> Parlour:
    service.add_project("Kiln", text="## Firing\n- fire at 1200\n- soak for ten minutes\n\n## Glaze\n- celadon\n")
    return Parlour(root, clock, service)
