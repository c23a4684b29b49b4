"""`make bench`: the budgets of the foundation, measured in one run and printed as a table.

Everything is real: the installed `wl`, a daemon, tmux and stand-ins, in a folder of its own that is
removed afterwards. Medians of several runs; on a noisy machine look at the least too. To compare
two versions, copy this folder into a clone of the other one and run it there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench import (  # noqa: E402 - found through the line above
    answers,
    board,
    box,
    churn,
    crew,
    estop,
    gate,
    home,
    hooks,
    looks,
    mail,
    memory,
    notices,
    runs,
    worst,
)
from bench.crew import command  # noqa: E402 - as above
from bench.parts import Asked  # noqa: E402 - as above
from bench.table import Row, timed  # noqa: E402 - as above
from tests.support.ground import Ground  # noqa: E402 - as above


def floors(ground: Ground) -> list[Row]:
    """What a user would pick instead, or cannot go below."""
    env, repo = ground.env, ground.folder / "repo"
    tmux = ["tmux", "-S", str(ground.folder / "t"), "-f", "/dev/null"]
    floor = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "git status": ["git", "status"],
        "tmux list-sessions": [*tmux, "list-sessions"],
    }
    subprocess.run([*tmux, "new-session", "-d", "sleep 600"], env=env, check=True)
    try:
        return [
            Row(f"floor: {name}", timed(_program(argv, repo, env), runs=20), None)
            for name, argv in floor.items()
        ]
    finally:
        subprocess.run([*tmux, "kill-server"], env=env, check=False)


def _program(argv: list[str], cwd: Path, env: dict[str, str]) -> Callable[[], object]:
    return lambda: subprocess.run(argv, cwd=cwd, env=env, stdout=subprocess.DEVNULL, check=True)


def start_up(ground: Ground) -> list[Row]:
    """`wl` and the daemon from nothing."""
    rows = [Row("wl help", timed(command(ground, "help"), runs=20), 100)]
    times = []
    for _ in range(5):
        times += timed(command(ground, "list"), runs=1)
        ground.wl("daemon", "stop").ok()
    rows.append(Row("wl list, daemon not yet running", times, 1000, "first answer"))
    return rows


PARTS: dict[str, Callable[[Ground], list[Row]]] = {
    "floors": floors,
    "start": start_up,
    "box": lambda _: box.measure(),
    "home": lambda _: home.measure(),
    "hooks": hooks.measure,
    "notices": notices.measure,
    "mail": lambda _: mail.measure(),
    "memory": lambda _: memory.measure(),
    "churn": lambda _: churn.measure(),
    "estop": lambda _: estop.measure(),
    "gate": gate.measure,
    "board": board.measure,
    "looks": looks.measure,
    "answers": answers.measure,
    "worst": worst.measure,
    "runs": lambda _: runs.measure(),
    "crew": crew.measure,
}
"""The crew is last: its hundred agents stay, and would slow everything that followed."""


def main() -> int:
    """Measures everything, or the parts that are named; ends 1 if a budget is exceeded."""
    asked = Asked(__doc__, PARTS)
    folder = Path(tempfile.mkdtemp(prefix="wlb-"))
    ground = Ground(folder)
    ground.repository()
    try:
        rows = [row for measure in asked.parts.values() for row in measure(ground)]
    finally:
        ground.wl("nuke", "--force", "-q", timeout=300)
        ground.leave()
        shutil.rmtree(folder, ignore_errors=True)
    return asked.print(rows)


if __name__ == "__main__":
    sys.exit(main())
