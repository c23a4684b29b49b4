"""What kill, nuke and merge say about what they ended."""

from __future__ import annotations

from typing import Any

from windlass.cli.call import Call


def tell(call: Call, done: dict[str, Any]) -> None:
    """Says who ended, what was kept, and what could not be."""
    for agent in done["ended"]:
        kept = agent["trash"]
        if kept is None:
            call.tell(f"{agent['id']} ended")
            continue
        call.tell(f"{agent['id']} ended; its work is kept as {kept['id']}")
        if dropped := kept["summary"]["dropped"]:
            call.tell(f"  {dropped} things were too big or odd to keep: wl trash show {kept['id']}")
    if done["orphans"]:
        call.tell(f"{len(done['orphans'])} agents below went to the next manager up")
    if any(agent["trash"] for agent in done["ended"]):
        call.tell("`wl undo` brings back what just ended")
