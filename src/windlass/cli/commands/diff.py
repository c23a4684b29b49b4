"""Shows what an agent committed since it left its parent's branch, and apart what it did not.

Of a change (`c12`), or of a branch of yours: what it would bring to its target, or what it brought
when it landed.

The first part is what `wl merge AGENT --expect TIP` takes, with the tip that its heading names; the
second, what the files of the workspace have beyond that tip, is left behind by a merge.
"""

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
from windlass.core.errors import ConfigError, NotFound, UserError
from windlass.core.ids import is_change
from windlass.core.printable import printable_line

_NAMED = 10
_PARTS = ("committed", "uncommitted")
EXAMPLES = (
    "wl diff api",
    "wl diff api --stat",
    "wl diff c12",
    "wl diff my-branch",
    "wl diff api --tool meld",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent or a change, and how to show it."""
    parser.add_argument("agent", nargs="?", metavar="AGENT|BRANCH|CHANGE")
    parser.add_argument("--stat", action="store_true", help="only how much in which file")
    parser.add_argument(
        "--tool", nargs="?", const="", metavar="PROGRAM",
        help="open a diff program on two folders, for one part after the other"
        " (default: config diff_tool)",
    )  # fmt: skip


def run(call: Call) -> int:
    """Prints it, through a pager on a terminal, or opens the tool."""
    args = call.args
    if is_change(args.agent or ""):
        return _of_change(call)
    if args.tool is not None:
        return _with_tool(call)
    try:
        diff = call.ask("diff", agent=args.agent, stat=args.stat)
    except NotFound as no_agent:
        return _of_branch(call, no_agent)
    _tell_what_is_missing(diff)
    parts = {part: _text(diff[part]) for part in _PARTS}
    if call.json:
        about = {name: diff[name] for name in ("id", "base", "tip", "gone", "unread")}
        about |= {"nested": diff["nested"]} if "nested" in diff else {}
        call.data({**about, **{part: _clean(text) for part, text in parts.items()}})
        return 0
    if not call.terminal:
        # For programs: byte for byte, so that it can be applied; they pass over the headings.
        write_exactly("".join(f"{_heading(diff, part)}\n{parts[part]}" for part in _PARTS))
        return 0
    painted = (
        f"{call.paint(_heading(diff, part), 'bold')}\n{patch.shown(parts[part], call.paint)}"
        for part in _PARTS
    )
    _page("\n".join(painted))
    return 0


def _of_branch(call: Call, no_agent: NotFound) -> int:
    """Prints what a branch of the person's brings; what names none was meant as an agent."""
    if call.args.agent is None:
        raise no_agent
    try:
        return _of_change(call)
    except NotFound:
        named = printable_line(call.args.agent)
        hint = f"{no_agent.hint}; `git branch` lists the branches"
        raise NotFound(f"no agent, change or branch {named!r}", hint) from None


def _of_change(call: Call) -> int:
    """Prints what a change is about: the same way, and of one part alone."""
    args = call.args
    if args.tool is not None:
        raise UserError(
            "--tool compares folders of agents, and a change has none",
            f"wl diff {args.agent} prints it; git difftool compares its commits",
        )
    diff = call.ask("change.diff", change=args.agent, stat=args.stat)
    text = _text(diff["committed"])
    if call.json:
        call.data({**diff, "committed": _clean(text)})
        return 0
    brings = "brought" if diff["state"] == "landed" else "brings"
    target, nothing = printable_line(diff["target"]), "" if text else " nothing"
    span = f"{diff['base'][:10]}..{diff['tip']}"
    heading = f"# {diff['id']}, {span}, what it {brings} to {target}:{nothing}"
    if not call.terminal:
        write_exactly(f"{heading}\n{text}")
    else:
        _page(f"{call.paint(heading, 'bold')}\n{patch.shown(text, call.paint)}")
    return 0


def _text(encoded: str) -> str:
    return base64.b64decode(encoded).decode(errors="surrogateescape")


def _clean(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _heading(diff: dict[str, Any], part: str) -> str:
    """Says what a part is; no line of a patch begins like this, whoever wrote the files."""
    base, tip = diff["base"][:10], diff["tip"]
    nothing = "" if diff.get(part) else "nothing"
    if part == "committed":
        return f"# committed, {base}..{tip}, what a merge takes: {nothing}".rstrip()
    return f"# not committed, beyond {tip}, what a merge leaves behind: {nothing}".rstrip()


def _tell_what_is_missing(diff: dict[str, Any]) -> None:
    """Says so beside the difference, which may be for a program."""
    if unread := diff["unread"]:
        names = ", ".join(map(printable_line, unread[:_NAMED]))
        more = f" and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
        write_error(
            f"wl: not compared, too large, too full of holes or too many new ones: {names}{more}\n"
        )
    if nested := diff.get("nested"):
        names = ", ".join(map(printable_line, nested[:_NAMED]))
        more = f" and {len(nested) - _NAMED} more" if len(nested) > _NAMED else ""
        write_error(f"wl: not shown, but with work of their own: {names}{more}\n")
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
    _tell_what_is_missing(diff)
    tool = shlex.split(call.args.tool or diff["tool"])
    try:
        if not tool or shutil.which(tool[0]) is None:
            raise ConfigError(
                f"no diff tool{f' {tool[0]!r}' if tool else ''}",
                f"{_waiting_tool(call)}wl diff AGENT --tool PROGRAM,"
                " or wl config set diff_tool PROGRAM --global",
            )
        for part in _PARTS:
            folders = [os.path.join(diff["folder"], part, side) for side in ("before", "after")]
            if part == _PARTS[0] or any(map(_holds_something, folders)):
                write_error(f"{_heading({**diff, part: True}, part)} {tool[0]}\n")
                if code := subprocess.run([*tool, *folders], check=False).returncode:
                    return code
        return 0
    finally:
        # Folders that an agent committed may lie deeper in each other than Python goes by itself.
        subprocess.run(["rm", "-rf", "--", diff["folder"]], check=False)


def _holds_something(folder: str) -> bool:
    return os.path.isdir(folder) and bool(os.listdir(folder))


def _waiting_tool(call: Call) -> str:
    """Says that the repository names one, which nobody has accepted."""
    waits = call.ask("config", config_key="diff_tool")["waiting"]
    return "the repository names one: wl trust; or " if waits else ""
