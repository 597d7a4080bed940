"""A short form of `make fuzz`: kills, full disks, lost terminals, spoilt folders, hostile words and calls."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.unchecked
def test_nothing_is_lost_or_made_up_in_a_quarter_of_a_minute():
    """In a process of its own: forks want one that has computed nothing yet."""
    done = subprocess.run(
        [sys.executable, "-m", "fuzzing", "0.25", "--seed", "0"], cwd=Path(__file__).parent, check=False,
        capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "0  faults" in done.stdout
    for kind in ("kills", "full disks", "two at once", "s lost", "spoilt folders", "command lines", "calls"):
        assert kind in done.stdout
