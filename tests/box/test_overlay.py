"""A stack of folders is seen as one, and none of them is changed by whoever writes there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from windlass.box import overlay
from windlass.box.overlay import Stack

SCRIPT = """
cd "$1" && cat tree.txt && cat deps/tool && echo new >tree.txt && echo more >deps/more
rm -r folder && ls
"""


def test_what_is_written_in_a_stack_goes_to_its_top_alone(tmp_path: Path) -> None:
    """Files of the stack are changed, added and removed; below everything stays as it was."""
    tree, layer = tmp_path / "a:tree", tmp_path / "layer,1"
    (tree / "folder").mkdir(parents=True)
    (tree / "tree.txt").write_text("old\n")
    (layer / "deps").mkdir(parents=True)
    (layer / "deps" / "tool").write_text("tool\n")
    place = tmp_path / "place"
    assert overlay.works(tmp_path / "probe")
    stack = Stack([layer, tree], tmp_path / "top", place)
    line = overlay.prefix([stack], file=tmp_path / "stacks")
    words = [*line, "/bin/sh", "-ec", SCRIPT, "-", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["old", "tool", "deps", "tree.txt"]
    assert (tree / "tree.txt").read_text() == "old\n"
    assert (tree / "folder").is_dir()
    assert sorted(path.name for path in (layer / "deps").iterdir()) == ["tool"]
    assert list(place.iterdir()) == []


def test_what_was_written_in_a_stack_is_there_for_whoever_comes_next(tmp_path: Path) -> None:
    """One program after the other: none of them waits until the disk has what the other wrote."""
    (tmp_path / "tree").mkdir()
    stack = Stack([tmp_path / "tree"], tmp_path / "top", tmp_path / "place")
    line = overlay.prefix([stack], file=tmp_path / "stacks")
    for script in ("echo one >file", "grep one file && echo two >file", "grep two file"):
        words = [*line, "/bin/sh", "-ec", f'cd "$1" && {script}', "-", str(stack.place)]
        subprocess.run(words, check=True, timeout=60)
    assert (tmp_path / "top" / "upper" / "file").read_text() == "two\n"
