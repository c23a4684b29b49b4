"""`wl init`: makes a repository known and gives it a configuration file to start from.

What agents without a box may run is a person's to say: the commands of the toolchains found here
are proposed, and written only where that was accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windlass import whole_file
from windlass.api.wire.setup import InitReply
from windlass.core import config
from windlass.core.ids import RoleName
from windlass.core.policy import proposals
from windlass.core.roles import SHIPPED, WIDER
from windlass.daemon.kernel import project_file, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.setup import trust


def begin(context: Context, cwd: str, *, accept: bool) -> IntentDraft:
    """Registers the repository, which is known from then on; says what is left to do."""
    repo = repos.require(context, cwd)
    made = not project_file.to_be_written(repo.root).exists()
    if not made:
        settings.load(context.folders.home, repo.root)
    data = {"root": repo.root, "accept": accept, "made": made}
    return IntentDraft(repo.id, None, lambda _: data)


def _write(work: RunningIntent) -> None:
    """Writes `.windlass/config.toml` unless there is one, and what was accepted into it."""
    home, root = work.context.folders.home, work.data["root"]
    path = project_file.to_be_written(root)
    if work.data["made"] and not path.exists():
        path.parent.mkdir(exist_ok=True)
        whole_file.replace(path, template().encode(), mode=0o644)
    if "proposed" not in work.data:
        proposal = proposals.propose(path.name for path in Path(root).iterdir())
        configured = settings.load(home, root)
        lists = [config.role_tools(configured, role).allow for role in SHIPPED]
        wanted = [
            pattern for pattern in proposal.allow if any(pattern not in allow for allow in lists)
        ]
        work.keep(toolchains=proposal.files, proposed=wanted)
    if work.data["accept"]:
        with settings.changing:
            for role in SHIPPED:
                _allow(work.context, root, role, work.data["proposed"])


def _made(work: RunningIntent) -> InitReply:
    root = work.data["root"]
    waiting = settings.usable(work.context.folders.home, root).acceptable
    return {
        "id": work.intent.repo,
        "root": root,
        "config": str(project_file.to_be_written(root)),
        "made": work.data["made"],
        "toolchains": work.data["toolchains"],
        "proposed": work.data["proposed"],
        "accepted": work.data["accept"],
        "waiting": [line.key for line in waiting],
    }


OPERATION = Operation("init", (Step("write", _write),), lambda _: [], _made)
"""One step, which a file that is there already is fine with."""


def _allow(context: Context, root: str, role: RoleName, patterns: Sequence[str]) -> None:
    """Writes what the person has just accepted, which counts as such.

    Beside words that stood there and nobody has looked at, all of the list waits.
    """
    key = f"permissions.{role}.allow"
    in_force = config.role_tools(settings.load(context.folders.home, root), role).allow
    path = project_file.to_be_written(root)
    written: list[str] = []
    for pattern in patterns:
        written = settings.add(path, key, pattern)
    trust.accept_typed(context, root, key, written, words=[*in_force, *patterns])


def template() -> str:
    """Every key, commented out, with what it is for and its default.

    Explanations have two marks: who takes one mark off every line, as editors do, has a valid file.
    """
    lines = ["## Windlass: what this repository wants. Every key is optional.", ""]
    default = config.Config()
    section = ""
    for key in sorted(config.ABOUT, key=lambda key: ("." in key, list(config.ABOUT).index(key))):
        if key in config.PERSONAL:
            continue
        table, _, name = key.rpartition(".")
        if table != section:
            lines += ["", f"[{table}]"]
            section = table
        usual = _toml(name, config.value(default, key))
        lines += [f"## {config.ABOUT[key]}", f"# {name} = {usual}"]
    return "\n".join(lines) + "\n"


def _toml(name: str, value: Any) -> str:
    """A value as it is written; for a key without one, some value that it could have."""
    if value is None:
        return "true" if name in WIDER else "10"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)
