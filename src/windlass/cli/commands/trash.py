"""Lists, shows, restores and empties salvaged work."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import render
from windlass.cli.call import Call, take_yes
from windlass.core import ages
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl trash list",
    "wl trash show api",
    "wl trash restore api-20260314T150926-535",
    "wl trash empty --older-than 30d",
)

_LETTERS = {"A": "new", "D": "deleted", "M": "changed", "T": "retyped"}


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do with which entry."""
    verbs = parser.add_subparsers(dest="verb", metavar="list|show|restore|empty")
    verbs.add_parser("list", help="list what can be restored")
    shown = verbs.add_parser("show", help="show what an entry holds")
    shown.add_argument("entry")
    restored = verbs.add_parser("restore", help="bring an entry back as an agent")
    restored.add_argument("entry")
    restored.add_argument("--name", help="the name to give it")
    emptied = verbs.add_parser("empty", help="delete entries for good")
    emptied.add_argument("entries", nargs="*")
    emptied.add_argument("--older-than", metavar="AGE", help="only entries older than 30d, 12h ...")
    take_yes(emptied)


def run(call: Call) -> int:
    """Runs the verb that was given."""
    match call.args.verb:
        case "show":
            return _show(call)
        case "restore":
            return _restore(call)
        case "empty":
            return _empty(call)
        case _:
            return _list(call)


def _list(call: Call) -> int:
    entries = call.ask("trash")
    call.data(entries)
    if call.json:
        return 0
    if not entries:
        call.tell("the trash is empty")
        return 0
    lines = [
        (
            entry["id"],
            entry["agent"],
            entry["how"] or "",
            ages.age(entry["age"]),
            _holds(entry["summary"]),
        )
        for entry in entries
    ]
    render.table(call, ("ENTRY", "AGENT", "BY", "AGE", "HOLDS"), lines, grow=4, spare=(1, 2, 3))
    return 0


_SINGLE = {"stashes": "stash", "commits": "commit"}
"""The counts of a summary whose name is that of several; others say of what kind files are."""


def _holds(summary: dict[str, object]) -> str:
    parts = [
        render.counted(count, _SINGLE.get(name, name), name)
        for name, count in summary.items()
        if isinstance(count, int) and count and name not in ("size", "bytes")
    ]
    return ", ".join(parts) or "nothing uncommitted"


def _show(call: Call) -> int:
    salvage = call.ask("trash.show", entries=[call.args.entry])
    call.data(salvage)
    contents = salvage["contents"]
    call.say(f"{salvage['id']}  {salvage['ref']}")
    for commit in contents["commits"]:
        call.say(f"  commit   {commit['oid'][:10]} {printable_line(commit['subject'])}")
    for stash in contents["stashes"]:
        call.say(f"  stash    {stash['oid'][:10]} {printable_line(stash['message'])}")
    for change in contents["changes"]:
        call.say(
            f"  {_LETTERS.get(change['letter'], 'changed'):<8} {printable_line(change['path'])}"
        )
    for path in contents["nested"]:
        call.say(f"  repo     {printable_line(path)}")
    for drop in contents["dropped"]:
        path, why = printable_line(drop["path"]), printable_line(drop["reason"])
        call.say(f"  not kept {path} ({why}, {render.size(drop['size'])})")
    return 0


def _restore(call: Call) -> int:
    done = call.ask("trash.restore", entries=[call.args.entry], name=call.args.name)
    call.data(done)
    for agent in done["restored"]:
        call.tell(f"{agent['id']} is back in {agent['workspace']}, on {agent['branch']}")
        call.tell(f"  wl resume {agent['id']} goes on")
    for note in done["notes"]:
        call.tell(f"  {printable_line(note)}")
    return 0


def _empty(call: Call) -> int:
    args = call.args
    older = ages.seconds(args.older_than) if args.older_than else None
    what = ", ".join(args.entries) or (f"what is older than {args.older_than}" if older else "all")
    if not call.sure:
        call.confirm(f"delete {what} from the trash, for good?")
    done = call.ask("trash.empty", entries=args.entries, older_than=older)
    call.data(done)
    count = len(done["emptied"])
    deleted = render.counted(count, "entry", "entries")
    call.tell(f"{deleted} deleted; git forgets {'it' if count == 1 else 'them'} at its next gc")
    return 0
