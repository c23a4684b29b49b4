"""A tree of fifty thousand files goes through the gate like any other."""

from __future__ import annotations

import pytest
from tests.daemon.gate.gate_ground import GateGround

FILES = 50_000
LOOK = f"""
import pathlib, unittest


class Reads(unittest.TestCase):
    def test_every_file_says_its_number(self):
        files = list(pathlib.Path("files").rglob("*.txt"))
        self.assertEqual(len(files), {FILES})
        for file in files:
            self.assertEqual(file.read_text(), file.stem)
"""


@pytest.mark.soak
def test_one_wrong_file_in_a_large_tree_is_red_and_the_rest_is_known(ground: GateGround) -> None:
    """And what was green before is green again without a run."""
    files = {f"files/{n % 50}/{n % 1000}/{n}.txt": str(n) for n in range(FILES)}
    ground.commit({**files, "test_files.py": LOOK})
    green = ground.prove()
    assert (green["outcome"], green["checks"][0]["tests"]) == ("passed", 2)
    ground.commit({"files/7/7/7.txt": "8"}, branch="change")
    red = ground.prove("change")
    assert red["outcome"] == "failed"
    assert "test_every_file_says_its_number" in red["checks"][0]["failed"][0]
    ground.commit({"files/7/7/7.txt": "7"}, branch="mended")
    assert ground.prove("mended")["cached"]
    assert ground.outcome(fresh=True) == "passed"
