"""Takes Windlass out of this machine: hooks, instructions, status, service, and what it keeps.

Refuses while agents live, while work lies in a workspace that no agent accounts for, and while
changes wait to land; it says what to type about each. Branches stay, as plain branches, and so
does what a repository has committed below .windlass/. Salvaged work stays in each repository,
below refs/windlass/trash/, unless you say that these refs go as well (-y does not: add --refs).
Afterwards plain git goes on with everything; the package itself is your installer's to remove.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from windlass.api import daemon_service, daemon_start, state_folder
from windlass.cli import render
from windlass.cli.call import Call, take_yes
from windlass.core.errors import Conflict
from windlass.core.printable import printable_line

EXAMPLES = ("wl uninstall", "wl uninstall -y", "wl uninstall -y --refs")
_NAMED = 5


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to ask, and whether refs go."""
    parser.add_argument(
        "--refs", action="store_true", help="delete refs/windlass/* too, and the trash with them"
    )
    take_yes(parser)


def run(call: Call) -> int:
    """Says what there is, asks, takes it out, and says what was removed."""
    look = call.ask("uninstall.look")
    if look["in_the_way"]:
        raise Conflict(
            f"{look['in_the_way'][0]}; nothing was removed", _more(look["in_the_way"][1:])
        )
    _show(call, look)
    if not call.sure:
        call.confirm("take Windlass out?")
    refs = call.args.refs or (not call.sure and _refs_too(call, look))
    done = call.ask("uninstall", refs=refs, config_folder=_config_folder())
    removed, problems = done["removed"], done["problems"]
    daemon_start.stop()
    service = daemon_service.described()
    if os.path.exists(service.path):
        daemon_service.tell_supervisor(service.disable)
        if daemon_service.remove(service):
            removed.append(service.path)
    left = state_folder.remove(frozenset(look["kept"]))
    removed.append(f"{look['home']} (state, configuration, archives)")
    call.data({"removed": removed, "problems": problems, "left": left})
    for line in removed:
        call.tell(f"removed {printable_line(line)}")
    for line in left:
        call.tell(f"left {printable_line(line)}")
    if not refs:
        _say_refs(call, look)
    for line in problems:
        call.say(f"not removed: {printable_line(line)}")
    return 1 if problems else 0


def _show(call: Call, look: dict[str, Any]) -> None:
    call.tell(f"{printable_line(look['home'])}: state, configuration, logs, and the archives of")
    call.tell(f"  {render.counted(look['archives'], 'ended agent')}")
    for kept in look["kept"]:
        call.tell(f"  stays, as the only copy of somebody's work: {printable_line(kept)}")
    for repo in look["repositories"]:
        what = "hooks, instructions and status of ours; branches stay"
        if repo["is_gone"]:
            what = "not there any more"
        call.tell(f"{printable_line(repo['root'])}: {what}")


def _refs_too(call: Call, look: dict[str, Any]) -> bool:
    """Asks about the refs, with the salvaged work named that would be lost with them."""
    count = sum(repo["refs"] for repo in look["repositories"])
    if not count:
        return False
    trash = [name for repo in look["repositories"] for name in repo["trash"]]
    for name in trash:
        call.tell(f"  in the trash: {printable_line(name)}")
    lost = (
        f", and the work of {render.counted(len(trash), 'ended agent')} with them" if trash else ""
    )
    return call.agrees(f"delete {render.counted(count, 'ref')} below refs/windlass/ as well{lost}?")


def _say_refs(call: Call, look: dict[str, Any]) -> None:
    for repo in look["repositories"]:
        if not repo["refs"]:
            continue
        root = printable_line(repo["root"])
        call.tell(f"left {render.counted(repo['refs'], 'ref')} below refs/windlass/ of {root}")
        for name in repo["trash"]:
            call.tell(f"  salvaged work: git log refs/windlass/trash/{printable_line(name)}")


def _more(others: list[str]) -> str:
    shown = "; ".join(others[:_NAMED])
    return shown + (f"; and {len(others) - _NAMED} more" if len(others) > _NAMED else "")


def _config_folder() -> str:
    """Where the caller's agent CLI has its settings."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude")
    return os.path.abspath(os.path.expanduser(folder))
