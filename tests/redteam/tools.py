"""What the agent asks of its own tools, for the lines that hooks advise against."""

from __future__ import annotations

from typing import Any


def calls(known: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """The line, the tool and its input, one for each line that has a natural form of it."""
    pid, sibling, main = known["witness"]["pid"], known["sibling"], known["main"]
    home, folder = known["home"], known["sibling_folder"]
    reads = {
        "1": f"{sibling}/secret.txt",
        "2": f"{main}/.env",
        "3": "link/secret.txt",
        "4": f"/proc/self/root{main}/.env",
        "5": f"/proc/{pid}/cwd/secret.txt",
        "8": f"{home}/.ssh/id_test",
        "9": known["shm_file"],
        "21": f"/proc/{pid}/environ",
        "32": known["store"],
        "33": f"{folder}/settings.json",
    }
    lines = {
        "6": f"ln {sibling}/secret.txt linked-too.txt",
        "7": f"chmod 600 {sibling}/secret.txt",
        "10": f"git -C {sibling} commit --allow-empty -m mine",
        "22": f"kill -USR2 {pid}",
        "24": "setsid -f sleep 1",
        "25": "unshare -Ur true",
        "29": f"tmux -S {known['tmux']} run-shell true",
        "30": f"curl -s --unix-socket {known['person']} http://wl/v1/whoami -d x",
        "34": "docker ps",
        "35": f"curl -s http://127.0.0.1:{known['tcp']}/",
        "36": f"curl -s http://{known['address']}:{known['tcp_all']}/",
    }
    planted = {"file_path": f"{main}/.git/hooks/post-merge", "content": "#!/bin/sh\n"}
    # An edit that would find nothing to replace: should it be allowed, nothing happens.
    edited = {"file_path": known["hook"], "old_string": "no such words", "new_string": ""}
    flagged = {"command": f"touch {known['marks']}/40", "dangerouslyDisableSandbox": True}
    return [
        *((number, "Read", {"file_path": path}) for number, path in reads.items()),
        *((number, "Bash", {"command": line}) for number, line in lines.items()),
        ("12", "Write", planted),
        ("37", "Write", {"file_path": f"{home}/.claude/settings.local.json", "content": "{}"}),
        ("39", "Edit", edited),
        ("40", "Bash", flagged),
    ]
