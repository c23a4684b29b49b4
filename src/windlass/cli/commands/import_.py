"""Brings a project over from Chief Wiggum (ralph), ittybitty or multiclaude.

Reads `.ralph/`, `.ittybitty.json` with `.ittybitty/prompts/`, or `.multiclaude/` of the project at
PATH (here), and writes what they say into its `.windlass/`: board, pipelines, plans, roles,
configuration. It says line by line what it carried over, what it could not and why, and what is
typed now instead of the old commands. Nothing of theirs is changed. A file of ours that is there
already is replaced only after a question, and then kept beside the new one; keys that the
configuration has stay as they are.

Tasks under way are reset; what is on their branches is offered for landing. Uncommitted work in
`.ralph/workers/*/workspace` is kept in the trash as well (`wl trash`), for which the daemon is
asked: nothing else here needs it.

Exit codes: 8 where there is no such folder, 14 where a file was left as it was and theirs
differs, or where work in their trees could not be kept.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser
from functools import partial
from typing import Any

from windlass.cli.call import Call
from windlass.cli.index import NAMES
from windlass.core.errors import WindlassError
from windlass.core.migration import commands
from windlass.core.migration.commands import Pair
from windlass.core.migration.findings import Branch
from windlass.core.printable import printable_line
from windlass.project import folder, import_targets, migrations
from windlass.project.config_additions import Merged
from windlass.project.import_targets import Written
from windlass.project.migrations import Source

EXAMPLES = ("wl import ralph --dry-run", "wl import ralph", "wl import ittybitty ../project")
_COMMANDS = {
    "ralph": commands.RALPH,
    "ittybitty": commands.ITTYBITTY,
    "multiclaude": commands.MULTICLAUDE,
}
_CONFLICT = 14


def arguments(parser: ArgumentParser) -> None:
    """Takes from whom, and where."""
    parser.add_argument("ancestor", choices=tuple(_COMMANDS), metavar="ralph|ittybitty|multiclaude")
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="the project (here)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(call: Call) -> int:
    """Reads, writes, and says what came of it."""
    args = call.args
    source = migrations.read(args.ancestor, args.path)
    windlass = os.path.join(source.project, folder.NAME)
    config = import_targets.merged(windlass, source.found.settings)
    files = _written(call, windlass, source, config)
    kept = [] if args.dry_run else _salvaged(call, source)
    call.data(_data(call, source, files, config, kept))
    if not call.json:
        _say(call, source, files, config)
        _say_work(call, source, kept)
        _say_commands(call)
    stays = any(file.how == "kept" for file in files) or any(tree["problem"] for tree in kept)
    return _CONFLICT if stays else 0


def _written(call: Call, windlass: str, source: Source, config: Merged) -> list[Written]:
    """Asks and looks at everything, and then writes it; an error says what came before it."""
    dry_run, may = call.args.dry_run, partial(_may, call)
    targets = import_targets.targets(windlass, source.found.files, may, dry_run=dry_run)
    files = [Written(target.path, target.how) for target in targets] if dry_run else []
    try:
        for file in () if dry_run else import_targets.write(targets, may):
            files.append(file)  # noqa: PERF402 - an error in the middle must find these
        if config.added:
            files.append(import_targets.configure(windlass, config.added, dry_run=dry_run))
    except WindlassError as error:
        raise import_targets.said_after(error, files) from None
    return files


def _may(call: Call, path: str) -> bool:
    """Asks whether a file may be replaced; nobody there to ask means no."""
    if call.json or not sys.stdin.isatty():
        return False
    return call.agrees(f"{printable_line(path)} is there already and differs: replace it?")


def _salvaged(call: Call, source: Source) -> list[dict[str, Any]]:
    """Has the work in another tool's trees kept; where nobody can, that is said of each."""
    if not source.workspaces:
        return []
    try:
        kept: list[dict[str, Any]] = call.ask(
            "foreign-work", cwd=source.project, paths=list(source.workspaces.values())
        )
    except WindlassError as error:
        trees = source.workspaces.values()
        return [{"path": path, "entry": None, "problem": error.message} for path in trees]
    return kept


def _data(
    call: Call, source: Source, files: list[Written], config: Merged, kept: list[dict[str, Any]]
) -> dict[str, Any]:
    found = source.found
    return {
        "from": call.args.ancestor,
        "project": source.project,
        "dry_run": call.args.dry_run,
        "files": [{**file._asdict(), "aside": file.aside or None} for file in files],
        "settings": config.added,
        "settings_kept": config.kept,
        "left": [left._asdict() for left in found.left],
        "branches": [{**branch._asdict(), "command": _land(branch)} for branch in found.branches],
        "trees": kept,
        "commands": [{**pair._asdict(), "there": _there(pair)} for pair in _commands(call)],
    }


_HOW = {
    "written": "written",
    "there": "is there already",
    "kept": "left as it is, and theirs differs: move it away, or answer on a terminal",
    "replaced": "replaced",
}


def _say(call: Call, source: Source, files: list[Written], config: Merged) -> None:
    found, would = source.found, "would be " if call.args.dry_run else ""
    for file in files:
        name = os.path.relpath(file.path, os.path.join(source.project, folder.NAME))
        origins = ", ".join(dict.fromkeys(found.sources.get(name, ())))
        said = f"{would if file.how == 'written' else ''}{_HOW[file.how]}"
        aside = f", the old one is {printable_line(file.aside)}" if file.aside else ""
        line = printable_line(f".windlass/{name}" + (f" from {origins}" if origins else ""))
        call.say(f"{call.paint(line, 'yellow' if file.how == 'kept' else 'green')}: {said}{aside}")
    for key, value in config.added.items():
        call.say(printable_line(f"  {key} = {value} from {found.setting_sources[key]}"))
    for key, value in config.kept.items():
        asked = found.settings[key]
        call.say(
            printable_line(f"  {key} stays {value}: {found.setting_sources[key]} says {asked}")
        )
    for left in found.left:
        call.say(f"{call.paint(printable_line(left.what), 'yellow')}: {printable_line(left.why)}")
    if any(not key.startswith(("pipeline", "roles.")) for key in config.added):
        call.say("what of the configuration widens waits for your word: wl trust")


def _say_work(call: Call, source: Source, kept: list[dict[str, Any]]) -> None:
    for branch in source.found.branches:
        line = f"{branch.task} [{branch.marker}] has work on {branch.branch}"
        call.say(f"{printable_line(line)}: {printable_line(_land(branch))}")
    for tree in kept:
        said = f"kept in the trash as {tree['entry']}" if tree["entry"] else "not kept: "
        call.say(printable_line(f"{tree['path']}: {said}{tree['problem']}"))
    if call.args.dry_run:
        for path in source.workspaces.values():
            call.say(f"{printable_line(path)}: its work would be kept in the trash")


def _land(branch: Branch) -> str:
    return f"wl merge {shlex.quote(branch.branch)} --task {branch.task} --no-wait"


def _say_commands(call: Call) -> None:
    call.tell("")
    call.tell("what was typed, and what is typed now:")
    width = max(len(pair.old) for pair in _commands(call))
    for pair in _commands(call):
        call.tell(
            f"  {pair.old:<{width}}  {pair.new}" + ("" if _there(pair) else "  (not there yet)")
        )


def _commands(call: Call) -> tuple[Pair, ...]:
    return _COMMANDS[call.args.ancestor]


def _there(pair: Pair) -> bool:
    """Whether this Windlass has the new command."""
    words = pair.new.split()
    if words[0] != "wl" or len(words) == 1:
        return True
    return words[1] in NAMES
