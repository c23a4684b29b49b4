"""Shows what an agent changed since it left its parent's branch, committed or not."""

from __future__ import annotations

import base64
import os
import shlex
import shutil
import subprocess
from argparse import ArgumentParser
from typing import Any

from windlass.cli import patch
from windlass.cli.call import Call
from windlass.cli.output import shown, write, write_error, write_exactly
from windlass.core.errors import ConfigError

EXAMPLES = ("wl diff api", "wl diff api --stat", "wl diff api --tool meld")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and how to show it."""
    parser.add_argument("agent", nargs="?")
    parser.add_argument("--stat", action="store_true", help="only how much in which file")
    parser.add_argument(
        "--tool", nargs="?", const="", metavar="PROGRAM",
        help="open a diff program on two folders (default: config diff_tool)",
    )  # fmt: skip


def run(call: Call) -> int:
    """Prints it, through a pager on a terminal, or opens the tool."""
    args = call.args
    if args.tool is not None:
        return _with_tool(call)
    diff = call.ask("diff", agent=args.agent, stat=args.stat)
    _tell_if_gone(diff)
    text = base64.b64decode(diff["diff"]).decode(errors="surrogateescape")
    if call.json:
        clean = text.encode(errors="surrogateescape").decode(errors="replace")
        about = {name: diff[name] for name in ("id", "base", "gone")}
        call.data({**about, "diff": clean})
        return 0
    if not call.terminal:
        write_exactly(text)  # for programs: byte for byte, so that it can be applied
        return 0
    _page(patch.shown(text, call.paint))
    return 0


def _tell_if_gone(diff: dict[str, Any]) -> None:
    """Says so beside the difference, which may be for a program."""
    if diff["gone"]:
        write_error(
            f"wl: {diff['id']}'s workspace is gone; this is what it had committed or staged."
            f" `wl resume {diff['id']}` makes it again\n"
        )


def _page(text: str) -> None:
    height = shutil.get_terminal_size().lines
    pager = shlex.split(os.environ.get("PAGER", "less"))
    if text.count("\n") < height - 1 or not pager or shutil.which(pager[0]) is None:
        write(text)
        return
    env = {"LESS": "FRX", **os.environ}
    safe = shown(text, terminal=True)
    subprocess.run(pager, input=safe.encode(errors="surrogateescape"), env=env, check=False)


def _with_tool(call: Call) -> int:
    diff = call.ask("diff", agent=call.args.agent, folders=True)
    _tell_if_gone(diff)
    tool = shlex.split(call.args.tool or diff["tool"])
    try:
        if not tool or shutil.which(tool[0]) is None:
            raise ConfigError(
                f"no diff tool{f' {tool[0]!r}' if tool else ''}",
                f"{_waiting_tool(call)}wl diff AGENT --tool PROGRAM,"
                " or wl config set diff_tool PROGRAM --global",
            )
        folders = [os.path.join(diff["folder"], side) for side in ("before", "after")]
        return subprocess.run([*tool, *folders], check=False).returncode
    finally:
        shutil.rmtree(diff["folder"], ignore_errors=True)


def _waiting_tool(call: Call) -> str:
    """Says that the repository names one, which nobody has accepted."""
    waits = call.ask("config", config_key="diff_tool")["waiting"]
    return "the repository names one: wl trust; or " if waits else ""
