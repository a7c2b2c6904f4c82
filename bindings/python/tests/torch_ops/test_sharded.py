"""What the ranks of a process group call for a sharded function, checked with the script that also checks it on GPUs."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "sharded_check.py"


def test_ranks_call_a_sharded_function_together():
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--dry-run", "--only", "cross_entropy"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines() == ["PASS cross_entropy with nothing computed", "1 passed, 0 failed"]
