"""A record of a session shows what its terminal showed: compared with tmux, case by case."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.sessions.conftest import until

from windlass.core.printable import without_escapes
from windlass.core.recorded_screen import shown
from windlass.sessions.tmux import Tmux

COLUMNS, LINES = 20, 6
DRAWN = {
    "a spinner in place": "working\r\n| 1\r/ 2\r\x1b[2Kdone\r\n",
    "a frame over a frame": "head\r\none\r\ntwo\r\n\x1b[2A\r\x1b[JONE\r\nTWO\r\n\x1b[2A\r\x1b[Jend",
    "a screen drawn anew": "old\r\nold\r\n\x1b[H\x1b[2Jnew\r\nscreen",
    "more than fits": "\r\n".join(f"line {number}" for number in range(12)),
    "a frame after more than fits": "\r\n" * 9 + "a\r\nb\r\n\x1b[2A\x1b[JA\r\nB\r\nC",
    "a line that wraps": "x" * 25 + "\r\ny",
    "a line that fills the row": "x" * 20 + "\r\ny",
    "a second screen that was left": "before\r\n\x1b[?1049h\x1b[Hinside\x1b[?1049l\x1b[Kafter",
    "a second screen that was not": "before\x1b[?1049h\x1b[H\x1b[2Jinside",
    "moves": "abc\x1b[2Dx\x1b[3;5Hy\x1b[5Gz\x1b[1dq\x1b[Ew\b!\tt",
    "insertions": "one\r\ntwo\r\nthree\x1b[2A\r\x1b[L\x1b[2@in\x1b[B\r\x1b[2P\x1b[1X",
    "deleted rows": "one\r\ntwo\r\nthree\x1b[2;1H\x1b[M",
    "a cursor that comes back": "one\x1b7\r\ntwo\x1b8!",
    "erased to the cursor": "one\r\ntwo\r\nthree\x1b[2;2H\x1b[1J\x1b[1K",
    "wide and accented": "漢字 e\u0301!\r\n\x1b[31mred\x1b[0m plain",
    "titles and links": "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b",
    "a reverse line feed": "one\r\ntwo\x1b[H\x1bMtop",
}


@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
def test_the_last_screen_is_what_tmux_shows(tmux: Tmux, tmp_path: Path, drawn: str) -> None:
    (tmp_path / "record").write_bytes(drawn.encode())
    record = shlex.quote(str(tmp_path / "record"))
    line = f"stty raw -echo; cat {record}; touch done; exec sleep 60"
    tmux.ensure()
    tmux.new("it", ["sh", "-c", line], cwd=tmp_path, columns=COLUMNS, lines=LINES)
    until((tmp_path / "done").exists)
    wanted = _seen(shown(drawn, columns=COLUMNS, lines=LINES)[-LINES:])
    seen: list[str] = []

    def agrees() -> bool:
        """Not at once: tmux reads what was written a moment later."""
        seen[:] = _seen(tmux.capture("it").splitlines())
        return seen == wanted

    until(agrees)


def _seen(lines: list[str]) -> list[str]:
    said = [without_escapes(line).rstrip() for line in lines]
    while said and not said[-1]:
        said.pop()
    return said
